#!/usr/bin/env python3
"""Compares gradients, attributions and estimates of encoders with float64: `run --grad`, `attribute`, `patch --estimate`.

    check_class_gradients.py FOLDER [MODEL ...]       run in the repository root; needs numpy and torch

FOLDER/models/MODEL has info.json, gradients_METRIC.npz, tokens.csv, attn_x_grad.csv, direct.csv and estimates.csv. A tensor is good within
4 times what float32 itself is off (info.json) and 2e-5 of its largest value, a number of a table within 4 times that and 1e-4 of
the largest of its kind. One line a model and table; the share is the largest of the bound. Never part of `make test`.
"""

import collections
import csv
import json
import pathlib
import sys

import numpy as np
import peers
from peers import TOOL, joined


def input_of(folder, prompt):
    if "pixels" in prompt:
        return ["--image", folder / prompt["pixels"]]
    if folder.name.startswith("whole") and prompt.get("text"):
        return [prompt["text"]] + (["--pair", prompt["pair"]] if prompt.get("pair") else [])
    return ["--ids", joined(prompt["ids"])] + (["--types", joined(prompt["types"])] if prompt.get("types") else [])


def answer_of(info, ask, prompt):
    def name(target):
        return "-".join(map(str, target)) if isinstance(target, list) else str(target)

    is_token = info["architecture"].endswith("MaskedLM")
    asked = ["--metric", ask["metric"]] + (["--at", str(ask["at"])] if "at" in ask else [])
    for option in ("target", "foil"):
        if ask.get(option) is not None and (option == "target" or ask["metric"] == "logit_diff"):
            asked += [f"--{option}-id" if is_token else f"--{option}", name(ask[option])]
    for label in prompt.get("labels") or []:
        asked += ["--label", f"ids:{joined(label)}"] if isinstance(label, list) else ["--label", f"image:{label}"]
    return asked


def table(*arguments):
    return peers.rows(TOOL, *arguments)


def check_gradients(folder, info):
    worst = 0
    for ask in info["asks"]:
        path = folder / f"gradients_{ask['metric']}.npz"
        if not path.exists():
            continue
        prompt, expected, off = info["prompts"][ask["prompt"]], np.load(path), info["float32_minus_float64"].get(path.name, {})
        seen = peers.arrays(TOOL, "run", "-m", folder, "--grad", "--sites", "*,relevance,relevance_norm", *input_of(folder, prompt),
                            *answer_of(info, ask, prompt))
        for name in expected.files:
            bound = 4 * off.get(name.split(".")[-1].replace("hook_", ""), 0) + 2e-5 * np.abs(expected[name]).max()
            worst = max(worst, peers.share_of(seen.get(name), expected[name], bound))
    return worst


def baseline_of(folder, info, prompt, method):
    kind = method[3:].split(":")[0]
    if kind == "other":
        pair = info["pairs"][0]
        return ["--baseline", f'image:{folder / pair["pixels"]}'] if "pixels" in pair else ["--baseline", f'ids:{joined(pair["ids"])}']
    if kind == "default":
        return []
    kept = "0,-1" if kind in ("mask", "pad") else "none"
    return ["--baseline", kind] + (["--baseline-keep", kept] if "pixels" not in prompt else [])


def check_tokens(folder, info):
    off, worst, rows = info["float32_minus_float64"]["tokens.csv"], 0, collections.defaultdict(dict)
    for row in csv.DictReader((folder / "tokens.csv").open()):
        rows[int(row["ask"]), row["method"]][row["part"], row["position"]] = float(row["attribution"])
    for (number, method), expected in rows.items():
        ask = info["asks"][number]
        prompt = info["prompts"][ask["prompt"]]
        is_ig = method.startswith("ig_")
        found = table("attribute", "-m", folder, "--method", "ig:" + method.split(":")[1] if is_ig else method,
                      *(baseline_of(folder, info, prompt, method) if is_ig else []), *input_of(folder, prompt),
                      *answer_of(info, ask, prompt))
        seen = {(row["part"], row["position"]): float(row["attribution"]) for row in found}
        bound = 4 * off.get(method, max(off.values())) + 1e-4 * max(map(abs, expected.values()))
        worst = max([worst] + [abs(seen.get(key, np.inf) - x) / bound for key, x in expected.items()])
    return worst


def check_direct(folder, info):
    off, worst, rows = info["float32_minus_float64"]["direct.csv"]["logit"], 0, collections.defaultdict(dict)
    for row in csv.DictReader((folder / "direct.csv").open()):
        rows[int(row["ask"])][row["part"], row["layer"], row["head"]] = float(row["logit"])
    for number, expected in rows.items():
        ask = info["asks"][number]
        prompt = info["prompts"][ask["prompt"]]
        asked = answer_of(info, ask, prompt)
        del asked[:2]  # it takes no metric
        found = table("attribute", "-m", folder, *input_of(folder, prompt), *asked)
        seen = {(row["part"], row["layer"], row["head"]): float(row["logit"]) for row in found}
        bound = 4 * off + 1e-4 * max(map(abs, expected.values()))
        worst = max([worst, np.inf if list(seen) != list(expected) else 0] +
                    [abs(seen.get(key, np.inf) - x) / bound for key, x in expected.items()])
    return worst


def check_estimates(folder, info):
    off, pair = info["float32_minus_float64"]["estimates.csv"], info["pairs"][0]
    prompt, columns = info["prompts"][pair["prompt"]], {"atp": "atp", "relp": "relp", "ig5": "ig:5"}
    given = ["--clean", f'ids:{joined(prompt.get("ids", []))}', "--corrupted", f'ids:{joined(pair.get("ids", []))}']
    given += ["--types", joined(prompt["types"])] if prompt.get("types") else []
    if "pixels" in pair:
        given = ["--image", folder / prompt["pixels"], "--corrupted", f'image:{folder / pair["pixels"]}']
    rows, tables, largest, worst = list(csv.DictReader((folder / "estimates.csv").open())), {}, collections.defaultdict(float), 0
    for row in rows:
        for column in columns:
            largest[row["site"], column] = max(largest[row["site"], column], abs(float(row[column] or 0)))
    for row in rows:
        for column, method in columns.items():
            if not row[column]:
                continue
            key = row["direction"], row["site"], row["by"], method
            if key not in tables:
                found = table("patch", "-m", folder, *given, *answer_of(info, pair, prompt), "--site", row["site"],
                              "--direction", row["direction"], "--estimate", method, "--verify", "0",
                              *(["--by", "position"] if row["by"] == "position" else []))[2:]
                tables[key] = {(x["layer"], x.get("head", x.get("kv_head", "")), x.get("position", "")): x for x in found}
            bound = 4 * off[f"{row['site']} {column}"] + 1e-4 * largest[row["site"], column]
            seen = tables[key][row["layer"], row["head"], row["position"]]["estimate"]
            worst = max(worst, abs(float(seen) - float(row[column])) / bound)
    return worst


def main():
    models, chosen, is_good = pathlib.Path(sys.argv[1]) / "models", sys.argv[2:], True
    checks = {"tokens.csv": check_tokens, "direct.csv": check_direct, "estimates.csv": check_estimates}
    for folder in sorted(models.iterdir()):
        info = json.loads((folder / "info.json").read_text())
        if "asks" not in info or (chosen and folder.name not in chosen):
            continue
        for name, check in {"gradients": check_gradients, **checks}.items():
            if name in checks and not (folder / name).exists():
                continue
            try:
                worst = check(folder, info)
            except RuntimeError as error:
                print(f"{folder.name} {name}: {error}")
                is_good = False
                continue
            is_good = is_good and worst <= 1
            print(f"{folder.name} {name}: {worst:.2f} of the bound", flush=True)
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
