#!/usr/bin/env python3
"""Compare `attn-cli features`, and edits by features, with numbers of float64.

    tests/tools/check_features.py build/release/attn-cli tests/fixtures/features-contract

FOLDER/cases.json is a list: `args` follow `attn-cli features`, or attn-cli if they are of another
command; `kind` says what is expected. The numbers are those of the libraries that wrote the
dictionaries (sae-lens 6.54.12, dictionary-learning 0.1.0, eai-sparsify 1.3.3) in models of
transformers, with hooks for edits.
"""

import csv
import io
import json
import os
import subprocess
import sys

CELLS = ("part", "position", "feature", "head", "key", "contribution")
COLUMNS = {
    "token": ("position", "feature", "activation"),
    "feature": ("position", "feature", "activation", "pre"),
    "cells": CELLS,
    "texts": ("feature", "rank", "id", "position", "activation"),
}


def is_near(found, expected, tolerance):
    if expected is None or isinstance(expected, str):
        return found == (expected or "")
    found = {"true": "1", "false": "0", "": "nan"}.get(found, found)
    return abs(float(found) - expected) <= (tolerance if isinstance(expected, float) else 0)


def differences(case, ran):
    """What is not as CASE says, as texts."""
    kind = case["kind"]
    if kind == "refused":
        lines = [line for line in ran.stderr.splitlines() if ": error: " in line]
        if ran.returncode not in case["codes"] or ran.stdout or len(lines) != 1:
            yield f"exit {ran.returncode}, {ran.stdout}{ran.stderr}"
        yield from (f"no word '{word}'" for word in case["words"] if word not in ran.stderr)
    elif ran.returncode != 0:
        yield ran.stderr
    elif kind == "logits":
        found = [float(x) for x in ran.stdout.splitlines()[-1].split(",")[1:]]
        most = max(map(abs, case["logits"]))
        off = max(abs(x - y) for x, y in zip(found, case["logits"], strict=True)) / most
        if off > 3e-5:
            yield f"logits are off by {off}"
    else:
        rows, expected = list(csv.DictReader(io.StringIO(ran.stdout))), case["rows"]
        if len(rows) != len(expected):
            yield f"{len(rows)} rows, expected {len(expected)}"
        for row, wanted in zip(rows, expected):
            pairs = wanted if kind == "fit" else dict(zip(COLUMNS[kind], wanted))
            for name, value in pairs.items():
                scale = max(1, abs(value)) if isinstance(value, float) else 1
                near = 2e-4 * scale if kind == "fit" else 2e-5 * case.get("scale", 3)
                if not is_near(row.get(name, ""), value, near):
                    yield f"{name} {row.get(name)}, expected {value}, in {row}"


def main():
    tool, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)
    n_bad = 0
    for case in cases:
        args = case["args"]
        if case["kind"] == "logits":
            args = ["run", *args, "--sites", "logits", "--queries", "-1"]
        elif args[0] != "run":
            args = ["features", *args]
        if case["kind"] != "refused" or args[0] == "features":
            args = [*args, "--csv", "-"]
        ran = subprocess.run(
            [tool, *args], cwd=folder, capture_output=True, text=True, check=False
        )
        bad = list(differences(case, ran))
        n_bad += bool(bad)
        if bad:
            print(f"{case['section']}, {case['name']}: {bad[0]}")
    print(f"{len(cases)} cases, {n_bad} wrong")
    sys.exit(n_bad > 0)


if __name__ == "__main__":
    main()
