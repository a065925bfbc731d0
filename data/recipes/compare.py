#!/usr/bin/env python3
"""compare.py - compares attn-cli with transformers on a model of yours.

    data/recipes/compare.py MODEL TEXT [--tolerance X] [--attn-cli PATH]
    data/recipes/compare.py MODEL --ids 5,17,3 [--tolerance X] [--attn-cli PATH]

MODEL is the directory of a decoder or encoder of text in Hugging Face's layout. Both programs make ids of TEXT,
which must be equal, and run them in float32, transformers with eager attention. The script compares patterns,
residual streams, the last hidden state and logits. It prints the largest difference of each kind, then of all, as
a share of the largest number of its tensor. Exit code 1: that is above the tolerance, 1e-4, or the ids differ.

Needs numpy, torch and transformers. Tested with torch 2.13.0 and transformers 5.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers


def run_attn_cli(program, model, what):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.npz"
        sites = "pattern,resid_pre,normalized_resid_p*,ln_fin*,logit*"  # globs: a model may lack these sites
        command = [program, "run", "-q", "-m", model, "--sites", sites, "--npz", path, *what]
        try:
            status = subprocess.run(command).returncode
        except FileNotFoundError:
            sys.exit(f"there is no program '{program}'; --attn-cli PATH names it")
        if status:
            sys.exit(status)  # attn-cli has printed why
        with np.load(path) as run:
            return {name: run[name] for name in run}


def run_transformers(path, ids):
    config = transformers.AutoConfig.from_pretrained(path)
    factory = getattr(transformers, (config.architectures or ["AutoModel"])[0])
    model = factory.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        run = model(torch.tensor(ids)[None], output_attentions=True, output_hidden_states=True)
    n_layer = len(run.attentions)
    # The last one follows the final norm, or in older encoders the second norm of the last block.
    tensors = {"ln_final.hook_normalized": run.hidden_states[-1],
               f"blocks.{n_layer - 1}.hook_normalized_resid_post": run.hidden_states[-1]}
    if "logits" in run:
        tensors["logits"] = run.logits
    for layer, pattern in enumerate(run.attentions):
        tensors[f"blocks.{layer}.attn.hook_pattern"] = pattern
        tensors[f"blocks.{layer}.hook_resid_pre"] = run.hidden_states[layer]
    return {name: tensor[0].numpy() for name, tensor in tensors.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("text", nargs="?")
    parser.add_argument("--ids")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--attn-cli", default="attn-cli")
    args = parser.parse_args()
    if (args.text is None) == (args.ids is None):
        parser.error("expected a text or --ids")
    ours = run_attn_cli(args.attn_cli, args.model, ["--ids", args.ids] if args.ids else [args.text])
    if args.text:
        ids = transformers.AutoTokenizer.from_pretrained(args.model)(args.text)["input_ids"]
        if ids != ours["ids"].tolist():
            sys.exit(f"the ids differ: {ours['ids'].tolist()} in attn-cli, {ids} in transformers")
    theirs = run_transformers(args.model, ours["ids"].tolist())
    theirs = {name: tensor for name, tensor in theirs.items() if name in ours}
    largest, rows = 0, {}
    for name, tensor in theirs.items():
        difference = np.abs(ours[name] - tensor).max()
        kind = name.split(".")[-1].removeprefix("hook_")
        before = rows.get(kind, (0, 0))
        rows[kind] = max(before[0], difference), max(before[1], np.abs(tensor).max())
        largest = max(largest, difference / max(1, np.abs(tensor).max()))
    print(f"{len(ours['ids'])} tokens, {len(theirs)} tensors; largest difference, and largest number:")
    for kind, (difference, number) in rows.items():
        print(f"  {kind:12} {difference:.2e}  {number:.4g}")
    print(f"largest difference, as a share of the largest number (at least 1): {largest:.2e}")
    sys.exit(0 if largest <= args.tolerance else 1)  # NaN is a difference, too


main()
