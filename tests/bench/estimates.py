#!/usr/bin/env python3
"""estimates.py - patch --estimate beside TransformerLens's attribution_patch.

    python tests/bench/estimates.py build/release/attn-cli build/release/bench/gpt2-random [TOKENS [ROUNDS]]

The work: attribution patching of every head and of every MLP's output at every position, two texts
of TOKENS (128), logit(target) - logit(foil) after the last one. Each is a fresh process of one
thread, and what is counted is the time of the processor from its start to its end; ours are two,
`--sites z --by position` and `--sites mlp_out`. Of TransformerLens the call alone is shown too. The
estimates must be the same to 1e-3 of the largest.
"""
import csv
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version

TARGET, FOIL = 11, 12


def make_pair(n):
    random.seed(1)
    clean = [random.randrange(50000) for _ in range(n)]
    return clean, [random.randrange(50000) if i % 5 == 3 else id for i, id in enumerate(clean)]


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command):
    """Its seconds, and what it printed."""
    begun = children_seconds()
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return children_seconds() - begun, done.stdout


def ours(tool, model, n, folder):
    """Seconds, and the estimates in logits: heads by layer, head and position, then MLPs."""
    clean, corrupted = (",".join(map(str, ids)) for ids in make_pair(n))
    seconds, found = 0, []
    for site in (["z", "--by", "position"], ["mlp_out"]):
        path = os.path.join(folder, "table.csv")
        seconds += measure([tool, "patch", "-q", "-m", model, "-t", "1", "--clean", f"ids:{clean}",
                            "--corrupted", f"ids:{corrupted}", "--target", f"ids:{TARGET}", "--foil",
                            f"ids:{FOIL}", "--estimate", "atp", "--verify", "0", "--csv", path,
                            "--site", *site])[0]
        with open(path, encoding="utf-8") as file:
            base, source, *rows = csv.DictReader(file)
        whole = float(source["value"]) - float(base["value"])
        found += [whole * float(row["estimate"]) for row in rows]
    return seconds, found


def theirs(model, n):
    """Seconds of its process, those of the call, and the same numbers."""
    seconds, printed = measure([sys.executable, __file__, "--attribute", model, str(n)])
    call, found = json.loads(printed)
    return seconds, call, found


def attribute(model, n):
    """In a process of its own."""
    import torch
    import transformers
    from transformer_lens.model_bridge import TransformerBridge
    from transformer_lens.tools.analysis import attribution_patch

    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    source = transformers.AutoModelForCausalLM.from_pretrained(model)
    bridge = TransformerBridge.boot_transformers(model, device="cpu", hf_model=source).eval()
    clean, corrupted = (torch.tensor([ids]) for ids in make_pair(n))
    used = resource.getrusage(resource.RUSAGE_SELF)
    scores = attribution_patch(bridge, clean, corrupted,
                               lambda logits: logits[0, -1, TARGET] - logits[0, -1, FOIL])
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    nodes = sorted((node.kind, node.layer, node.head or 0, node.position, score)
                   for node, score in scores.node_scores.items() if node.kind != "embed")
    print(json.dumps([seconds, [float(node[-1]) for node in nodes]]))


def main(tool, model, n=128, n_round=3):
    n, n_round, times = int(n), int(n_round), []
    try:
        name = f"TransformerLens {version('transformer_lens')}"
    except PackageNotFoundError:
        sys.exit("estimates.py: skipped, there is no transformer_lens (pip install transformer_lens)")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(n_round):
            mine, found = ours(tool, model, n, folder)
            whole, call, expected = theirs(model, n)
            times.append((mine, whole, call))
    largest = max(map(abs, expected))
    worst = max(abs(a - b) for a, b in zip(found, expected, strict=True))
    if not worst <= 1e-3 * largest:
        sys.exit(f"estimates differ by {worst:.3g}, the largest is {largest:.3g}")
    print(f"{len(found)} estimates at {n} tokens, the same to {worst / largest:.1e} of the largest")
    for label, at in (("attn-cli, both processes", 0), (f"{name}, its process", 1),
                      (f"{name}, the call alone", 2)):
        print(f"{label:40} {statistics.median(t[at] for t in times):8.3f} s of CPU, ratio "
              f"{statistics.median(t[at] / t[0] for t in times):.1f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attribute"]:
        attribute(sys.argv[2], int(sys.argv[3]))
    elif len(sys.argv) < 3:
        sys.exit(__doc__)
    else:
        main(*sys.argv[1:])
