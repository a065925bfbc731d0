"""Compare every decoder of a folder, with layers that mix tokens without attention, to its expected tensors.

    python tests/tools/check_hybrids.py FOLDER [TOOL] [NAME...]

A folder has config.json, model.safetensors, info.json with "kind" "decoder", and expected/, as of
check_decoders.py; in attn_K.npy and mixing_K.npy only the layers that info.json lists. A line for
each model: the worst share of the bound, 4 * the error of transformers in float32 + 1e-6 * the
largest value, of patterns, mixing, residual stream, final rows, logits, and of all sites of one
prompt. A refused model prints as refused. Exits with 1 if a share is above 1. Needs numpy and torch.
"""
import json
import pathlib
import sys

import numpy as np
import peers

KINDS = ("attn", "mixing", "hidden", "final", "logits")


def named(info):
    """The arrays of expected/ by kind: names in our archive, and what is taken of an array for each."""
    n_layer = info["n_layer"]
    yield "attn", [(f"blocks.{layer}.attn.hook_pattern", i) for i, layer in enumerate(info.get("attn_layers", []))]
    yield "mixing", [(f"blocks.{layer}.mixer.hook_mixing", i) for i, layer in enumerate(info.get("mixing_layers", []))]
    yield "hidden", [(f"blocks.{layer}.hook_resid_pre", layer) for layer in range(n_layer)] \
        + [(f"blocks.{n_layer - 1}.hook_resid_post", n_layer)]
    yield "final", [("ln_final.hook_normalized", ...)]
    yield "logits", [("logits", ...)]


def share(ours, name, expected, bound):
    name = name + "_band" if name + "_band" in ours else name
    if name in ours and ours[name].size == expected.size and ours[name].shape != expected.shape:
        ours[name] = ours[name].reshape(expected.shape)
    if name == "ln_final":
        name = "ln_final.hook_normalized"
    return peers.share_of(ours.get(name), expected, bound)


def of_sites(info, folder, ours):
    """The worst share of the sites of one prompt, and its name."""
    prompt = info["prompts"][info["sites_prompt"]]
    relative = 1e-6 + max(4 * error / prompt["max_abs"][kind] for kind, error in
                          prompt["float32_minus_float64"].items() if prompt["max_abs"].get(kind))
    with np.load(folder / f"expected/sites_{info['sites_prompt']}.npz") as file:
        shares = []
        for name in file.files:
            expected = file[name].astype(np.float64)
            is_finite = np.isfinite(expected)
            largest = np.abs(expected[is_finite]).max(initial=0)
            if name in ours and ours[name].shape == expected.shape:
                ours[name] = np.where(is_finite, ours[name], 0)
            shares.append((share(ours, name, np.where(is_finite, expected, 0), relative * largest), name))
    return max(shares)


def check(tool, folder):
    info = json.loads((folder / "info.json").read_text())
    worst = dict.fromkeys(KINDS, 0.0)
    sites, name_of_worst = 0.0, ""
    for k, prompt in enumerate(info["prompts"]):
        try:
            ours = peers.arrays(tool, "run", "-m", folder, "--ids", peers.joined(prompt["ids"]), "--sites", "*")
        except RuntimeError as failure:
            print(f"{folder.name:16} refused: {str(failure).splitlines()[0].partition(': ')[2]}", flush=True)
            return False
        for kind, names in named(info):
            if not names:
                continue
            expected = np.load(folder / f"expected/{kind}_{k}.npy").astype(np.float64)
            bound = 4 * prompt["float32_minus_float64"][kind] + 1e-6 * prompt["max_abs"][kind]
            worst[kind] = max([worst[kind]] + [share(ours, name, expected[at], bound) for name, at in names])
        if k == info["sites_prompt"]:
            sites, name_of_worst = of_sites(info, folder, ours)
    print(f"{folder.name:16} " + ", ".join(f"{kind} {x:.2f}" for kind, x in worst.items())
          + f", sites {sites:.2f} ({name_of_worst}) of the bound", flush=True)
    return max(sites, *worst.values()) <= 1


def main():
    folder, tool, names = pathlib.Path(sys.argv[1]), peers.TOOL, sys.argv[2:]
    if names and pathlib.Path(names[0]).is_file():
        tool, names = pathlib.Path(names[0]).resolve(), names[1:]
    decoders = sorted(path.parent for path in folder.glob("*/info.json")
                      if json.loads(path.read_text()).get("kind") == "decoder")
    results = [check(tool, path) for path in decoders if not names or path.name in names]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
