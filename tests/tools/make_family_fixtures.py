"""Makes the fixtures family-*, or PREFIX-NAME of the models NAME: tiny random models of the families beyond GPT-2 as transformers saves them.

    python tests/tools/make_family_fixtures.py MODELS_FOLDER [PREFIX NAME...]

MODELS_FOLDER/NAME has config.json, weights, info.json and expected/: float64 results of transformers,
its casts to float32 taken out, rounded to float32. attn_K [layer, head, query, key], hidden_K
[layer + 1, position, d_model], final_K, logits_K of prompt K; sites_K.npz: all tensors of one prompt.

Kept of a prompt are the arrays K/SITE by the sites' names in archives, with the ids in K/ids and in
K/bounds what a difference from them may be: of patterns, residuals, the final norm, logits, and of any
other site as a share of its largest value. The prompt with all tensors keeps all, but for what is equal
to another array; the others keep patterns, and the last rows of the rest.
"""

import json
import pathlib
import shutil
import sys

import numpy as np
from model_directory import write_archive

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures"
KINDS = ("attn", "hidden", "final", "logits")
LAST_ROWS = 3


def bounds(prompt):
    """4 times what transformers' float32 is off, and 1e-6 of the largest value."""
    off, largest = prompt["float32_minus_float64"], prompt["max_abs"]
    absolute = [4 * off[kind] + 1e-6 * largest[kind] for kind in KINDS]
    others = KINDS + ("mixing",) * ("mixing" in off)
    return np.array(absolute + [max(4 * off[k] / largest[k] + 1e-6 for k in others)])


def all_sites(folder, k):
    sites = dict(np.load(folder / f"sites_{k}.npz"))
    for name in list(sites):
        if ".mixer.hook_mixer_" in name:
            sites[name] = sites[name].reshape(len(sites[name]), -1)  # a row for all heads
        if name.endswith("hook_resid_pre") and not name.startswith("blocks.0."):
            before = f"blocks.{int(name.split('.')[1]) - 1}.hook_resid_post"
            assert np.array_equal(sites[name], sites[before]), (folder, name)
            del sites[name]
    final, logits = np.load(folder / f"final_{k}.npy"), np.load(folder / f"logits_{k}.npy")
    assert np.array_equal(sites.pop("ln_final", final), final)
    return sites | {"ln_final.hook_normalized": final, "logits": logits}


def last_rows(folder, k, attended=None):
    patterns, hidden = np.load(folder / f"attn_{k}.npy"), np.load(folder / f"hidden_{k}.npy")
    sites = {"ln_final.hook_normalized": np.load(folder / f"final_{k}.npy"),
             "logits": np.load(folder / f"logits_{k}.npy"),
             f"blocks.{len(hidden) - 2}.hook_resid_post": hidden[-1]}
    for layer in range(len(hidden) - 1):
        sites[f"blocks.{layer}.hook_resid_pre"] = hidden[layer]
    sites = {name: x[-LAST_ROWS:] for name, x in sites.items()}
    return sites | {f"blocks.{i}.attn.hook_pattern": x for i, x in zip(attended or range(len(patterns)), patterns)}


def convert(source, prefix):
    target = FIXTURES / (prefix + "-" + source.name.replace("_", "-"))
    info = json.loads((source / "info.json").read_text())
    arrays = {}
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("expected", "info.json"))
    for k, prompt in enumerate(info["prompts"]):
        folder, attended = source / "expected", info.get("attn_layers")
        sites = all_sites(folder, k) if k == info["sites_prompt"] else last_rows(folder, k, attended)
        arrays |= {f"{k}/{name}": x for name, x in sites.items()}
        arrays |= {f"{k}/ids": np.array(prompt["ids"], np.int64), f"{k}/bounds": bounds(prompt)}
    write_archive(target / "expected.npz", arrays)


if __name__ == "__main__":
    prefix, *names = sys.argv[2:] or ["family"]
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        if not names or folder.name in names:
            convert(folder, prefix)
