#!/usr/bin/env bash
# run_corpora.sh - runs every fuzz target over its corpus; each file counts as one test.
#
# A program gets all files at once. Only when it fails they are given one by one, to name the one it is.
set -u
cd "$(dirname "$0")/.." || exit 1

build=${BUILD:-build/release}
passed=0 failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# In a shell of its own, which keeps what bash says of a crash.
replay() { (exec "$build/tests/fuzz/$name" "$@") >"$output" 2>&1 </dev/null; }

for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    files=(tests/fuzz/corpus/"${name#fuzz_}"/*)
    if [ ! -x "$build/tests/fuzz/$name" ]; then
        echo "$build/tests/fuzz/$name: not built"
        failed=$((failed + 1))
        continue
    fi
    if replay "${files[@]}"; then
        passed=$((passed + ${#files[@]}))
        continue
    fi
    for file in "${files[@]}"; do
        if replay "$file"; then
            passed=$((passed + 1))
        else
            echo "$file: broke $name"
            cat "$output"
            failed=$((failed + 1))
        fi
    done
done

echo "corpora: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
