#!/usr/bin/env bash
# check_parallel.sh - the recipes for GNU parallel give the bytes of one run: shards, of which some are
# interrupted and run again, and blocks of a stream.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh

command -v parallel >/dev/null || { echo "check-parallel: skipped, there is no parallel: make deps-engines" && exit 0; }
PATH=$(cd "$build" && pwd):$PATH
recipes=$PWD/data/recipes
cd "$scratch" || exit 1

make_prompts() {
    awk 'BEGIN { for (i = 0; i < 3000; i++)
        printf "{\"id\":\"p%d\",\"text\":\"%d keys to the old cabinet near the river are here\"}\n", i, i }' >prompts.jsonl
    attn-cli run -m fable -q --top 5 --items prompts.jsonl --jsonl whole.jsonl
}

shards_join_to_one_run() {
    "$recipes/parallel.sh" fable prompts.jsonl results.jsonl &&
        cat results-*-of-00016.jsonl | cmp - whole.jsonl
}

# Ends the recipe and its tools in the middle: the shards from 10 on wait for that. Jobs that a killed parallel leaves behind are
# ended, too.
goes_on_after_an_interruption() {
    local pid
    rm -f results*
    mkdir held
    printf '#!/bin/sh\ncase "$*" in *"--shard 1"[0-5]/16*) exec sleep 1000 ;; esac\nexec "%s" "$@"\n' \
        "$(command -v attn-cli)" >held/attn-cli
    chmod +x held/attn-cli
    PATH=$PWD/held:$PATH setsid "$recipes/parallel.sh" fable prompts.jsonl results.jsonl 2>/dev/null &
    pid=$!
    until [ -s results-00002-of-00016.jsonl.part ] || [ -e results-00002-of-00016.jsonl ]; do
        kill -0 $pid 2>/dev/null || { echo 'the recipe ended before it was interrupted' && return 1; }
        sleep 0.02
    done
    kill -TERM -- -$pid
    wait $pid 2>/dev/null
    while pgrep -g $pid >/dev/null; do sleep 0.02; done
    shards_join_to_one_run
}

blocks_join_to_one_run() {
    "$recipes/pipe.sh" fable 20k <prompts.jsonl | cmp - whole.jsonl
}

a_shard_that_fails_is_told() {
    rm -f results*
    sed -i '777s/.*/nonsense/' prompts.jsonl
    "$recipes/parallel.sh" fable prompts.jsonl results.jsonl
    [ $? -eq 1 ] || return # one job failed
    grep -cP '\t6\t0\t' results.jsonl.joblog | grep -qx 1
}

make_prompts || exit 1
for test in shards_join_to_one_run goes_on_after_an_interruption blocks_join_to_one_run a_shard_that_fails_is_told; do
    if $test; then pass; else fail "tests/engines/check_parallel.sh # $test"; fi
done
finish check-parallel
