#!/bin/bash
# pipe.sh - prompts from a stream, in blocks to as many processes as there are cores, in order:
#
#     zcat prompts.jsonl.gz | data/recipes/pipe.sh MODEL [BLOCK] > results.jsonl
#
# BLOCK is 20M bytes by default. Each process counts its records from 0: they need an `id`. More than
# 1,000 records that fail in a block end it, and the script with it.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 MODEL [BLOCK] <PROMPTS >RESULTS" >&2; exit 2; }
model=$1 block=${2:-20M}

parallel --pipe -k --block "$block" --halt soon,fail=1 \
    attn-cli run -m "$model" -t 1 -q --top 5 --items - --jsonl - --max-errors 1000
