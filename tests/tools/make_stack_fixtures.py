"""Makes tests/fixtures/stacks.tar and stack-rows.tar: models with an encoder and a decoder, as transformers saves them.

    python tests/tools/make_stack_fixtures.py stacks FOLDER DIR      DIR is that of make_m2m_model.py
    python tests/tools/make_stack_fixtures.py stack-rows FOLDER

A member NAME/ has the files of the model, the arrays of sound that it reads, and expected.npz: of prompt K
K/ids, K/source_ids or K/mel, K/mask where keys of the source are masked, K/SITE for each of K/n_site tensors that
are known, by its name in archives, K/bounds/SITE, how far off it may be, and K/greedy, the ids of a greedy continuation.
"""

import io
import json
import pathlib
import sys
import tarfile

import numpy as np
from model_directory import write_archive

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures"
NAMES = {"stacks": ("t5", "flan_t5", "bart", "marian", "whisper", "whole_opus", "nllb"),
         "stack-rows": ("mt5", "umt5", "mbart", "pegasus", "m2m_100", "blenderbot")}
FILES = ("config.json", "generation_config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json",
         "tokenizer.json", "tokenizer_config.json", "mel_0.npy", "mel_1.npy")


def sites(arrays, has_later_norm):
    """The arrays of transformers, by the names of their sites, with the array that each is a part of."""
    last = "hook_normalized_resid_post" if has_later_norm else "hook_resid_post"
    for stack in ("encoder", "decoder"):
        hidden = arrays[f"{stack}_hidden"]
        for layer, pattern in enumerate(arrays[f"{stack}_attn"]):
            yield f"{stack}.{layer}.attn.hook_pattern", pattern, f"{stack}_attn"
            yield f"{stack}.{layer}.hook_resid_pre", hidden[layer], f"{stack}_hidden"
        yield f"{stack}.{len(hidden) - 2}.{last}", hidden[-1], f"{stack}_hidden"
        if f"{stack}_final" in arrays:
            yield f"{stack}_final_ln.hook_normalized", arrays[f"{stack}_final"], f"{stack}_final"
    for layer, pattern in enumerate(arrays["cross_attn"]):
        yield f"decoder.{layer}.cross_attn.hook_pattern", pattern, "cross_attn"
    yield "logits", arrays["logits"], "logits"


def expected(directory, info, k, prompt):
    arrays = dict(np.load(directory / "expected" / f"{k}.npz"))
    off, largest = prompt["float32_minus_float64"], prompt["max_abs"]
    made = {"ids": np.array(prompt["ids"], np.int64)}
    if "source" in prompt:
        made["mel"] = np.load(directory / prompt["source"])
    else:
        made["source_ids"] = np.array(prompt["source_ids"], np.int64)
    if "mask" in prompt:
        made["mask"] = np.array(prompt["mask"], np.int64)
    bound = {key: 4 * off[key] + 1e-6 * largest[key] for key in off}
    if info.get("sites_prompt") == k:
        share = max(bound[key] / largest[key] for key in bound if largest[key] > 0)
        for site, x in np.load(directory / "expected" / f"sites_{k}.npz").items():
            seen = np.abs(x[np.isfinite(x)])
            made[site], made[f"bounds/{site}"] = x, np.array([share * seen.max()])
    for site, x, key in sites(arrays, info["family"] in ("bart", "marian")):
        made[site], made[f"bounds/{site}"] = np.float32(x), np.array([bound[key]])
    made["n_site"] = np.array([sum(name.startswith("bounds/") for name in made)], np.int64)
    for greedy in info.get("generate", []):
        if greedy.get("source", greedy.get("source_ids")) == prompt.get("source", prompt.get("source_ids")):
            made["greedy"] = np.array(greedy["ids"], np.int64)
    return {f"{k}/{name}": x for name, x in made.items()}


def add(archive, data, name):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    archive.addfile(info, io.BytesIO(data))


def main():
    kind, folders = sys.argv[1], [pathlib.Path(folder) for folder in sys.argv[2:]]
    scratch = FIXTURES / "stacks.tmp.npz"
    with tarfile.open(FIXTURES / f"{kind}.tar", "w") as archive:
        for name in NAMES[kind]:
            directory = next(folder / name for folder in folders if (folder / name).exists())
            info = json.loads((directory / "info.json").read_text())
            arrays = {}
            for k, prompt in enumerate(info["prompts"]):
                arrays |= expected(directory, info, k, prompt)
            write_archive(scratch, arrays)
            for file in FILES:
                if (directory / file).exists():
                    add(archive, (directory / file).read_bytes(), f"{name}/{file}")
            add(archive, scratch.read_bytes(), f"{name}/expected.npz")
    scratch.unlink()


if __name__ == "__main__":
    main()
