#!/usr/bin/env bash
# damage.sh - the weights of the tiny model, and a tokenizer.json of each style, cut at every length;
# `make test` tries one in 7 of the header and one in 997 after it. Files of PyTorch, nanoGPT and llama2.c
# likewise, and with changed bits. Pictures, and what becomes of
# them, with every bit changed; `make test` tries one in 7. Only for TORTURE=full.
. "$(dirname "$0")/frame.sh"

for suite in model_damaged torch tokenizer_json pictures; do
    CK_TIMEOUT_MULTIPLIER=100 "$build/tests/unit/test_$suite" >"$scratch/out" 2>&1
    status=$?
    [ $status -eq 0 ] && pass || fail "$suite: status $status: $(tail -n 3 "$scratch/out")"
done
finish
