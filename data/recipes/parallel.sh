#!/bin/bash
# parallel.sh - a file of prompts in 16 shards, 4 at once on this machine, by GNU parallel:
#
#     data/recipes/parallel.sh MODEL prompts.jsonl results.jsonl
#     cat results-*-of-00016.jsonl                   # the bytes of one run over all
#
# Run it again after an interruption: shards that were done are left out, others go on where they
# stopped. One process with all cores is as fast; shards are for what runs on several machines
# (parallel --sshlogin).
set -eu
[ $# -ge 3 ] || { echo "usage: $0 MODEL PROMPTS RESULTS" >&2; exit 2; }
model=$1 prompts=$2 results=$3

seq 0 15 | parallel -j4 --joblog "$results.joblog" --resume-failed \
    attn-cli run -m "$model" -t 1 -q --top 5 --items "$prompts" --shard {}/16 --jsonl "$results" --resume
