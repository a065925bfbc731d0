#!/usr/bin/env python3
"""Random command lines of an older version: with this one each means the same, or is refused with its new form.

    python3 tests/tools/check_former.py OLDER_BINARY BINARY [--count 500] [--seed 1]

Options and their arguments are those of the older binary's own help. Each line is a base, which works, with one to three options
more. A line means the same if both versions end alike, print the same and write the same files (the names of columns and options in
texts may differ: --loose compares numbers alone). It is refused rightly if the message names the words that are
expected. Lines that the older version refuses are not counted."""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TEXT = "The keys to the cabinet"
BASES = {
    "run": [TEXT], "heads": [TEXT], "lens": [TEXT], "score": [TEXT], "tokenize": [TEXT], "generate": [TEXT, "-n", "3"],
    "ablate": ["--target", " are", TEXT], "attribute": ["--target", " are", TEXT], "inspect": ["fable"], "models": [],
    "patch": ["--clean", "The keys to", "--corrupted", "The key to", "--target", " are"], "diff": [TEXT, "The key to the cabinet"],
}
VALUES = {
    "ablate": "2.5", "ablate-mean": "2.5", "ablate-pattern": "1.2", "attention": "window:2", "colormap": "magma",
    "figure-width": "85mm", "figure": "grid", "heads": "2.5", "layers": "1", "queries": "1", "sites": "pattern", "items": "items.jsonl",
    "texts": "in.jsonl", "csv": "a.csv", "json": "a.json", "jsonl": "a.jsonl", "svg": "a.svg", "html": "a.html", "npz": "a.npz",
    "latex": "a.tex", "markdown": "a.md", "tidy": "a.csv", "each": "each.csv", "knockout": "4>0", "measures": "max", "foil": " is",
    "target": " are", "next": " is", "mask": "none", "cluster": "number", "group-by": "number", "paired": "number=sg:pl", "fdr": "value",
    "bootstrap": "10:1", "interval": "90", "dropout": "0.5", "eps": "0.5", "seed": "3", "sort": "layer", "column": "layer",
    "prompt": TEXT, "sentence": TEXT, "source": "The cat", "metric": "prob", "parts": "mlp", "per": "text", "by": "token",
    "method": "saliency", "estimate": "atp", "precision": "2", "limit": "2", "top": "3", "threads": "1", "title": "A", "font": "serif",
    "model": "tiny-gpt2", "max-tokens": "300", "compute": "bf16", "at": "1", "control": "2:1", "positions": "end=-1", "from": "1", "to": "0", "ids": "5,6,7",
}


def options_of(binary, command):
    """Pairs of an option and its argument, or "" for a flag."""
    text = subprocess.run([binary, "help", command], capture_output=True, text=True).stdout
    found = re.findall(r"^(?: {6}|  -., )--([a-z-]+)(?: ([^ \n]+))?(?:  .*)?$", text, re.M)
    topics = "".join(subprocess.run([binary, "help", "attention"], capture_output=True, text=True).stdout)
    for name in re.findall(r"--([a-z-]+)", "".join(re.findall(r"^ {6}--[a-z-]+, .*$", text, re.M))):
        argument = re.search(rf"^ {{6}}--{name}(?: ([^ \n]+))?", topics, re.M)
        found.append((name, argument.group(1) or "" if argument else ""))
    return found


def value_of(name, argument, rng):
    if name in VALUES:
        return VALUES[name]
    words = [word for word in re.split(r"[|]", argument) if re.fullmatch(r"[a-z0-9_]+", word)]
    return rng.choice(words) if words else "3"


def prepare(folder):
    items = "".join('{"id": "%s", "text": "%s", "target": " %s", "number": "%s"}\n' % row for row in (
        ("a", "The keys to", "are", "pl"), ("a", "The key to", "is", "sg"), ("b", "The dogs near", "are", "pl"), ("b", "The dog near", "is", "sg")))
    (folder / "items.jsonl").write_text(items)
    (folder / "in.jsonl").write_text('{"id": "x", "text": "The dogs near"}\n{"id": "y", "text": "The keys to the cabinet"}\n')


ROOT = pathlib.Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "ATTN_CLI_MODEL_PATH": str(ROOT / "models")}


def run(binary, line):
    """The exit code, what was printed and written, and standard error."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        before = {path.name for path in folder.iterdir()}
        done = subprocess.run([binary, *line], cwd=folder, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, env=ENVIRONMENT)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
                 if path.is_file() and path.name not in before and not path.name.endswith(".run.json")}
        return done.returncode, done.stdout, files, done.stderr.decode(errors="replace")


def numbers(data):
    return re.findall(rb"-?\d+\.\d+(?:[eE][-+]?\d+)?", data)


def is_same(one, other, loose):
    if one[0] != other[0]:
        return False
    if loose:
        return numbers(one[1]) == numbers(other[1]) and one[2].keys() == other[2].keys()
    return one[1] == other[1] and one[2] == other[2]


def is_refused(seen):
    return seen[0] == 2 and (", expected " in seen[3])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("older")
    parser.add_argument("binary")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loose", action="store_true")
    args = parser.parse_args()
    older, binary = (str(pathlib.Path(path).resolve()) for path in (args.older, args.binary))
    rng, counts, n = random.Random(args.seed), {"same": 0, "refused with its new form": 0}, 0
    options = {command: options_of(older, command) for command in BASES}
    while n < args.count:
        command = rng.choice(list(BASES))
        line = [command]
        for name, argument in rng.sample(options[command], min(len(options[command]), rng.randint(1, 2))):
            if name in ("help", "live", "resume", "verbose", "load", "max-line"):
                continue
            line += [f"--{name}"] + ([value_of(name, argument, rng)] if argument else [])
        line += BASES[command]
        before = run(older, line)
        if before[0] != 0:
            continue
        after = run(binary, line)
        n += 1
        if is_same(before, after, args.loose):
            counts["same"] += 1
        elif is_refused(after):
            counts["refused with its new form"] += 1
        else:
            print(f"differs: {' '.join(repr(word) if ' ' in word else word for word in line)}\n  {before[0]} {before[3].strip()[:200]}"
                  f"\n  {after[0]} {after[3].strip()[:200]}")
            counts["differs"] = counts.get("differs", 0) + 1
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts.get("differs") else 0


if __name__ == "__main__":
    sys.exit(main())
