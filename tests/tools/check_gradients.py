#!/usr/bin/env python3
"""Compares what `attn-cli run --grad` writes with gradients by automatic differentiation in float64.

    check_gradients.py FOLDER [MODEL ...]       run in the repository root; needs numpy

FOLDER has info.json and for each model gradients_METRIC.npz. A tensor is good within 4 times what float32 itself is off
(info.json) and 2e-5 of its largest value. One line a model and metric; the share is the largest of the bound.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np


def run(model, pair, metric, out):
    ids = ",".join(map(str, pair["clean"]))
    asked = ["--metric", "ce"]
    if metric == "logit_diff":
        asked = ["--target-id", str(pair["target"]), "--foil-id", str(pair["foil"])]
    sites = "*,relevance" if metric == "logit_diff" else "*"
    subprocess.run(["build/release/attn-cli", "run", "-m", str(model), "--ids", ids, "--grad", "--sites", sites, "--npz", out,
                    "--quiet", *asked], check=True)
    return np.load(out)


def compare(seen, expected, off):
    worst = (0, "")
    for name in expected.files:
        if name not in seen.files:
            return 9, name + " is lacking"
        kind = name.split(".")[-1].replace("hook_", "")
        bound = 4 * off.get(kind, 0) + 2e-5 * np.abs(expected[name]).max()
        difference = np.abs(seen[name] - expected[name]).max()
        worst = max(worst, (difference / bound if bound > 0 else 9 * (difference > 0), name))
    return worst


def main():
    folder = pathlib.Path(sys.argv[1])
    info = json.loads((folder / "info.json").read_text())
    is_good = True
    with tempfile.TemporaryDirectory() as temporary:
        for name in sys.argv[2:] or info:
            model = folder / info[name]["dir"] if info[name]["dir"] else pathlib.Path("models") / name
            for metric in ("logit_diff", "ce"):
                path = folder / name / f"gradients_{metric}.npz"
                if not path.exists():
                    continue
                seen = run(model, info[name]["pairs"][0], metric, temporary + "/seen.npz")
                expected = np.load(path)
                share, where = compare(seen, expected, info[name]["float32_minus_float64"][path.name])
                is_good &= share <= 1
                print(f"{name:22} {metric:10} {len(expected.files):3} tensors  {share:.3f}  {where}")
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
