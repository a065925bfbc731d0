#!/usr/bin/env bash
# check_engines.sh - the recipes for Ray and Parquet.
#
#   check_engines.sh PYTHON      a Python with ray[data] and pyarrow; what it lacks is skipped by name
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh

python=$(command -v "${1:-python3}")
PATH=$(cd "$build" && pwd):$PATH
recipes=$PWD/data/recipes module=$PWD/lib/python library=$(cd "$build" && pwd)/libattn.so
cd "$scratch" || exit 1

make_prompts() {
    awk 'BEGIN { for (i = 0; i < 5000; i++)
        printf "{\"id\":\"p%d\",\"text\":\"%d keys to the old cabinet near the river are here\"}\n", i, i }' >prompts.jsonl
    attn-cli run -m fable -q --top 5 --items prompts.jsonl --jsonl whole.jsonl
}

ray_keeps_the_order() {
    "$python" -c 'import ray.data' 2>/dev/null || { echo "skipped: '$python' lacks ray[data]" && return; }
    RAY_DISABLE_IMPORT_WARNING=1 "$python" "$recipes/ray_map.py" fable prompts.jsonl ray.jsonl >ray.log 2>&1 ||
        { tail -20 ray.log && return 1; }
    cmp ray.jsonl whole.jsonl
}

# One of the 5,000 texts is null.
parquet_has_every_head() {
    "$python" -c 'import numpy, pyarrow' 2>/dev/null || { echo "skipped: '$python' lacks numpy or pyarrow" && return; }
    "$python" - <<'END' || return
import json, pyarrow, pyarrow.parquet
texts = [json.loads(line)["text"] for line in open("prompts.jsonl")]
texts[3000] = None
pyarrow.parquet.write_table(pyarrow.table({"id": range(5000), "prompt": texts}), "texts.parquet")
END
    PYTHONPATH=$module LIBATTN=$library "$python" "$recipes/parquet.py" fable texts.parquet heads.parquet prompt || return
    attn-cli heads -m fable -q --items prompts.jsonl --measures entropy,previous --each heads.csv --csv /dev/null
    "$python" - <<'END'
import csv, numpy, pyarrow.parquet
table = pyarrow.parquet.read_table("heads.parquet").to_pylist()
failed = [row for row in table if row["error"]]
assert [row["row"] for row in failed] == [3000] and failed[0]["layer"] is None, failed
there = [row for row in csv.DictReader(open("heads.csv")) if row["id"] != "p3000"]
assert len(there) == len(table) - 1 == 4999 * 32, len(table)
for ours, theirs in zip((row for row in table if not row["error"]), there):
    assert [f"p{ours['row']}", str(ours["layer"]), str(ours["head"])] == [theirs["id"], theirs["layer"], theirs["head"]], (ours, theirs)
    assert all(numpy.float32(ours[m]) == numpy.float32(theirs[m]) for m in ("entropy", "previous")), (ours, theirs)
END
}

make_prompts || exit 1
for test in ray_keeps_the_order parquet_has_every_head; do
    if $test; then pass; else fail "tests/engines/check_engines.sh $python # $test"; fi
done
finish check-engines
