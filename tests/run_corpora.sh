#!/usr/bin/env bash
# run_corpora.sh - runs every fuzz target over its corpus; each input counts as one test.
#
# A program gets all inputs at once. Only when it fails they are given one by one, to name the one it is.
# Those of the archives lie in the build folder afterwards.
#
#   run_corpora.sh [TARGET]...
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh
. tests/fuzz/corpus.sh

replay_target() { # TARGET
    local program=$build/tests/fuzz/fuzz_$1 folder=$build/corpus/$1 input inputs
    unpack_corpus "$1" "$folder"
    shopt -s nullglob
    inputs=("tests/fuzz/corpus/$1"/* "$folder"/*)
    if [ ${#inputs[@]} -eq 0 ]; then
        fail "# fuzz target $1 has no inputs"
    elif { ("$program" "${inputs[@]}"); } >/dev/null 2>&1; then
        pass ${#inputs[@]}
    else
        for input in "${inputs[@]}"; do
            if ("$program" "$input"); then pass; else fail "$program $input"; fi
        done
    fi
}

targets=("$@")
if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        target=$(basename "$source" .c)
        targets+=("${target#fuzz_}")
    done
fi
side_by_side replay_target "${targets[@]}"
finish corpora
