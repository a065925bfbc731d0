#!/usr/bin/env python3
"""same_files.py OLD NEW [--jobs N] [--only TEXT] [--without EXPRESSION] - compares what two binaries print and write.

Runs the scripts of all cases of tests/cli, and every question and output on small models of each kind, with OLD and with
NEW in equal folders. Standard output, standard error, the exit status and the bytes of all files must be equal. For a step
of a refactoring: OLD is a binary of the commit before. What differs between two runs of OLD (times) is left out.
The exit status is 0 if nothing differs. Expected differences are for the reader to judge.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests/fixtures")


def cases_of_tests():
    """Yields name and script of each case of tests/cli."""
    for folder, _, files in sorted(os.walk(os.path.join(ROOT, "tests/cli"))):
        for file in sorted(f for f in files if f.endswith(".test")):
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8") as lines:
                text = lines.read()
            for case in re.split(r"^=== ", text, flags=re.M)[1:]:
                name, _, rest = case.partition("\n")
                yield f"{os.path.relpath(path, ROOT)}:{name}", re.split(r"^--- ", rest, flags=re.M)[0]


MODELS = [  # name, model, arguments of one input, keys of an item
    ("fable", "fable", "'The keys to the cabinet'", '"text": "The keys to the cabinet"'),
    ("tiny-gpt2", '"$MODELS/tiny-gpt2"', "'The cat sat'", '"text": "The cat sat"'),
    ("interpreter", '"$MODELS/interpreter"', "--source 'The cat sat' '猫坐在'", '"text": "猫坐在", "source": "The cat sat"'),
    ("llama", '"$FIXTURES/family-mistral"', "--ids 4,5,6,5", '"ids": [4, 5, 6]'),
    ("gptj", '"$FIXTURES/family-gptj"', "--ids 4,5,6,5", '"ids": [4, 5, 6]'),
    ("olmoe", '"$FIXTURES/decoder-olmoe"', "--ids 4,5,6,5", '"ids": [4, 5, 6]'),
    ("bert", '"$OTHERS/bert"', "--ids 2,5,4,3", '"ids": [2, 5, 4, 3], "at": "2"'),
] + [(name, f'"$OTHERS/{name}"', "--source ids:5,6,7,8 --ids 2,5,6", '"ids": [2, 5, 6], "source": [5, 6, 7]')
     for name in ("marian", "t5", "bart", "whole_opus")]
OUTPUTS = ["", "--csv -", "--json -", "--csv a.csv --json a.json", "--latex -", "--markdown -", "--svg a.svg",
           "--html a.html", "--color always"]
TARGET = "--target ids:5 --foil ids:6"
QUESTIONS = {
    "heads": ["", "--sort layer", "--measures entropy,far,first --sort -entropy", "--effect --metric ce", "--layers 0"],
    "lens": ["", TARGET],
    "ablate": [TARGET, "--by layer --metric ce", "--by mlp --metric ce", TARGET + " --heads 0.0 --verbose"],
    "attribute": [f"--method {name} {TARGET}" for name in ("saliency", "dla", "ig:3", "grad_x_input", "causes")],
    "score": [""],
    "diff": ["--with-attention window:2"],
    "generate": ["-n 3"],
}
MANY = ["", "--each e.csv", "--each e.jsonl", "--csv -", "--json -", "--latex -", "--group-by n", "--group-by n --svg a.svg",
        "--group-by n --html a.html", "--each e.csv --shard 1/2", "-t 2 --each e.jsonl --csv t.csv", "--limit 1",
        "--each e.csv; attn-cli QUESTION --resume --each e.csv"]
RUNS = ["", "--sites '*'", "--heads 0.0 --sites pattern,z", "--top 3", "--layers 0 --sites resid_pre,resid_post",
        "--ablate 0.0 --sites logits", "--attention window:2", "--grad --metric ce --sites 'pattern*,z*'"]
RUN_OUTPUTS = ["", "--csv a", "--npy a", "--npz a.npz", "--json a.json", "--safetensors a.safetensors",
               "--tidy a.csv", "--html a.html", "--svg a.svg", "--svg a/", "--heatmap"]
RUN_MANY = ["--sites resid_pre,z --npz a.npz", "--sites pattern --npy a.npy --layers 0 --heads 0", "--top 2",
            "--top 2 --csv -", "--sites z --queries -1 --mean-by n --npz a.npz", "--sites logits --npz a.npz --shard 2/2"]
BATCHES = ["", "--jsonl o.jsonl", "--sites z --queries 0", "--sites pattern --csv o.csv", "--top 2 -t 1",
           "--jsonl o.jsonl; attn-cli batch --resume MODEL i.jsonl --jsonl o.jsonl", "--shard 1/2 --jsonl o.jsonl"]


def generated():
    """Yields name and script of a command for each model, question and output."""
    for name, model, one, keys in MODELS:
        lines = "".join(f"{{{keys}, \"target\": {4 + n}, \"foil\": 3, \"n\": {n % 2}}}\n" for n in range(3))
        items = f"printf '{lines}' >i.jsonl\n"
        for question, forms in QUESTIONS.items():
            for form, output in itertools.product(forms, OUTPUTS):
                yield f"{name} {question} {form} {output}", f"attn-cli {question} -m {model} {one} {form} {output}"
            for form, output in itertools.product(forms, MANY):
                many = f"{question} -m {model} {form.replace(TARGET, '')} --items i.jsonl"
                yield (f"{name} {question} {form} items {output}",
                       f"{items}attn-cli {many} {output.replace('QUESTION', many)}")
        for form, output in itertools.product(RUNS, RUN_OUTPUTS):
            yield f"{name} run {form} {output}", f"attn-cli run -m {model} {one} {form} {output}"
        for form in RUN_MANY:
            yield f"{name} run items {form}", f"{items}attn-cli run -m {model} --items i.jsonl {form}"
        for form in BATCHES:
            yield f"{name} batch {form}", f"{items}attn-cli batch -m {model} i.jsonl {form.replace('MODEL', '-m ' + model)}"


TIMES = re.compile(rb'"[a-z_]*(seconds|started|manifest_sha256)[a-z_]*": *[^,}\n]*')


def digest(folder, out):
    """Returns a dict of what a script left: parts to digests, or short texts."""
    seen = {}
    for name, data in out.items():
        seen[name] = data
    for path, _, files in sorted(os.walk(folder)):
        for file in sorted(files):
            full = os.path.join(path, file)
            if os.path.islink(full) or not os.path.isfile(full):
                continue
            with open(full, "rb") as data:
                steady = TIMES.sub(b"", data.read()) if file.endswith(".run.json") else data.read()
            seen[os.path.relpath(full, folder)] = hashlib.sha256(steady).hexdigest()
    return seen


def run(binary, script, base, others=""):
    """Runs SCRIPT in an empty folder below BASE with BINARY as attn-cli."""
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(os.path.join(base, "bin"))
    os.makedirs(os.path.join(base, "here"))
    os.symlink(os.path.abspath(binary), os.path.join(base, "bin/attn-cli"))
    env = {"PATH": os.path.join(base, "bin") + ":/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb",
           "MODELS": os.path.join(ROOT, "models"), "FIXTURES": FIXTURES, "OTHERS": others, "TMPDIR": base}
    try:
        done = subprocess.run(["bash", "-c", script], cwd=os.path.join(base, "here"), env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)
        out = {"stdout": done.stdout, "stderr": done.stderr, "exit": done.returncode}
    except subprocess.TimeoutExpired:
        out = {"exit": "timeout"}
    return digest(os.path.join(base, "here"), out)


def differences(a, b):
    return sorted(part for part in a.keys() | b.keys() if a.get(part) != b.get(part))


def compare(job):
    """Returns the name, the parts that differ, and both results; None for parts that OLD does not repeat."""
    name, script, old, new, base, without = job
    others, base = os.path.join(base, "models"), os.path.join(base, str(os.getpid()))
    a, b = run(old, script, base, others), run(new, script, base, others)
    parts = [part for part in differences(a, b) if not (without and re.search(without, part))]
    if parts:
        unsteady = differences(a, run(old, script, base, others))
        parts = [part for part in parts if part not in unsteady]
    return name, script, parts, {part: (a.get(part), b.get(part)) for part in parts}


def show(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--without", default="", help="leave out the files whose paths match, as in '[.]state$'")
    parser.add_argument("--show", action="store_true", help="print both texts of what differs")
    args = parser.parse_args()
    scripts = [pair for pair in itertools.chain(cases_of_tests(), generated()) if args.only in pair[0]]
    n_command = sum(script.count("attn-cli ") for _, script in scripts)
    n_bad = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as base, \
            concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for archive in ("stacks", "encoders"):
            with tarfile.open(os.path.join(FIXTURES, archive + ".tar")) as tar:
                tar.extractall(os.path.join(base, "models"))
        jobs = [(name, script, args.old, args.new, base, args.without) for name, script in scripts]
        for name, script, parts, both in pool.map(compare, jobs, chunksize=4):
            if not parts:
                continue
            n_bad += 1
            print(f"differs: {name}: {' '.join(parts)}", flush=True)
            for part in parts if args.show else ():
                print(f"  --- {part}, old\n{show(both[part][0])}  --- {part}, new\n{show(both[part][1])}")
    print(f"{len(scripts)} scripts with {n_command} commands, {n_bad} differ")
    return n_bad > 0


if __name__ == "__main__":
    sys.exit(main())
