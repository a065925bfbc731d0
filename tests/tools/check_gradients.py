#!/usr/bin/env python3
"""Compares what `attn-cli run --grad` and `patch --estimate` write with automatic differentiation in float64.

    check_gradients.py FOLDER [MODEL ...]       run in the repository root; needs numpy

FOLDER has info.json and for each model gradients_METRIC.npz and estimates.csv. A tensor is good within 4 times what float32
itself is off (info.json) and 2e-5 of its largest value, an estimate within 4 times that and 1e-4 of the largest of its
column. One line a model and metric, or a model, site and column; the share is the largest of the bound.
"""

import collections
import csv
import io
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
        asked = ["--target", f'ids:{pair["target"]}', "--foil", f'ids:{pair["foil"]}']
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


def patch(model, pair, direction, site, by, method):
    """{(layer, head, position): row} of an estimate, or of exact patches."""
    asked = ["--estimate", method, "--verify", "0", "--by", by] if method else []
    clean, corrupted = (",".join(map(str, pair[name])) for name in ("clean", "corrupted"))
    out = subprocess.run(["build/release/attn-cli", "patch", "-m", str(model), "--clean", f"ids:{clean}", "--corrupted", f"ids:{corrupted}",
                          "--target", f'ids:{pair["target"]}', "--foil", f'ids:{pair["foil"]}', "--quiet", "--csv", "-", "--sites",
                          site, "--direction", direction, *asked], check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO(out)))[2:]
    return {(row["layer"], row.get("head", row.get("kv_head", "")), row.get("position", "")): row for row in rows}


def check_estimates(name, model, path, info):
    """The worst share of each site and column, printed; whether all are good."""
    off, tables, largest = info["float32_minus_float64"][path.name], {}, collections.defaultdict(float)
    worst = collections.defaultdict(float)
    rows = list(csv.DictReader(path.open()))
    columns = {"atp": "estimate", "relp": "estimate", "ig5": "estimate", "value": "value", "effect": "effect"}
    for row in rows:
        for column in columns:
            if row[column]:
                largest[row["site"], column] = max(largest[row["site"], column], abs(float(row[column])))
    for row in rows:
        for column, shown in columns.items():
            method = {"atp": "atp", "relp": "relp", "ig5": "ig:5"}.get(column)
            key = row["pair"], row["direction"], row["site"], row["by"], method
            if not row[column]:
                continue
            if key not in tables:
                tables[key] = patch(model, info["pairs"][int(row["pair"])], *key[1:])
            bound = 4 * off[f"{row['site']} {column}"] + 1e-4 * largest[row["site"], column]
            found = tables[key][row["layer"], row["head"], row["position"]][shown]
            difference = abs(float(found) - float(row[column]))
            worst[row["site"], column] = max(worst[row["site"], column], difference / bound)
            if float(row[column]) == 0 and column in ("atp", "relp", "ig5") and found != "0":
                worst[row["site"], column] = 9  # where both texts agree it is +0
    for (site, column), share in worst.items():
        print(f"{name:22} {site:10} {column:6} {share:.3f}")
    return max(worst.values()) <= 1


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
            if (folder / name / "estimates.csv").exists():
                is_good &= check_estimates(name, model, folder / name / "estimates.csv", info[name])
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
