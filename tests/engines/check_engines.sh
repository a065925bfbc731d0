#!/usr/bin/env bash
# check_engines.sh - the recipes for Ray and Snakemake, and the atlas.
#
#   check_engines.sh PYTHON      a Python with ray[data] and snakemake; what it lacks is skipped by name
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh

python=$(command -v "${1:-python3}")
PATH=$(cd "$build" && pwd):$PATH
recipes=$PWD/data/recipes
cd "$scratch" || exit 1

make_prompts() {
    awk 'BEGIN { for (i = 0; i < 5000; i++)
        printf "{\"id\":\"p%d\",\"text\":\"%d keys to the old cabinet near the river are here\"}\n", i, i }' >prompts.jsonl
    attn-cli batch -m fable -q -o whole.jsonl prompts.jsonl
}

ray_keeps_the_order() {
    "$python" -c 'import ray.data' 2>/dev/null || { echo "skipped: '$python' lacks ray[data]" && return; }
    RAY_DISABLE_IMPORT_WARNING=1 "$python" "$recipes/ray_map.py" fable prompts.jsonl ray.jsonl >ray.log 2>&1 ||
        { tail -20 ray.log && return 1; }
    cmp ray.jsonl whole.jsonl
}

snakemake_joins_shards() {
    "$python" -c 'import snakemake' 2>/dev/null || { echo "skipped: '$python' lacks snakemake" && return; }
    "$python" -m snakemake -s "$recipes/Snakefile" -c2 --config model=fable prompts=prompts.jsonl >snake.log 2>&1 ||
        { tail -20 snake.log && return 1; }
    cmp results.jsonl whole.jsonl
}

make_prompts || exit 1
for test in ray_keeps_the_order snakemake_joins_shards; do
    if $test; then pass; else fail "tests/engines/check_engines.sh $python # $test"; fi
done
finish check-engines
