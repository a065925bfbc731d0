"""ray_map.py - texts through attn-cli by Ray Data, in order:

    python data/recipes/ray_map.py MODEL prompts.jsonl results.jsonl

Ray gives blocks back as they are done: preserve_order keeps the order of the input.
"""
import json
import subprocess
import sys

import ray

model, prompts, results = sys.argv[1:4]


def measure(batch):
    lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in zip(batch["id"], batch["text"]))
    done = subprocess.run(["attn-cli", "run", "-m", model, "-t", "1", "-q", "--top", "5", "--items", "-", "--jsonl", "-"],
                          input=lines, capture_output=True, text=True)
    if done.returncode not in (0, 6):  # 6: some records failed
        raise RuntimeError(done.stderr)
    return {"line": done.stdout.splitlines()}


ray.data.DataContext.get_current().execution_options.preserve_order = True
records = ray.data.read_json(prompts, lines=True).select_columns(["id", "text"])
with open(results, "w") as out:
    for row in records.map_batches(measure, batch_size=1024).iter_rows():
        out.write(row["line"] + "\n")
