#!/usr/bin/env bash
# run_unit.sh - runs the unit tests, all of the build or the given ones, and adds up their checks.
#
# A program that ends badly although none of its checks failed (a crash outside of a test, a leak
# found at its end) counts as one failure.
set -u
cd "$(dirname "$0")/.." || exit 1

build=${BUILD:-build/release}
passed=0 failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# A refused allocation is a result that tests ask for, not a reason to stop.
export ASAN_OPTIONS=allocator_may_return_null=1:${ASAN_OPTIONS-}
export TSAN_OPTIONS=allocator_may_return_null=1:${TSAN_OPTIONS-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS-}

# ThreadSanitizer of gcc 12 finds no room for its shadow on kernels that randomize addresses widely.
fixed_addresses=()
[[ $build == */tsan ]] && setarch -R true 2>/dev/null && fixed_addresses=(setarch -R)

programs=("$@")
if [ $# -eq 0 ]; then
    for source in tests/unit/test_*.c; do
        [ -e "$source" ] && programs+=("$build/tests/unit/$(basename "$source" .c)")
    done
fi

for program in "${programs[@]}"; do
    "${fixed_addresses[@]}" "$program" >"$output" 2>&1 </dev/null
    status=$?
    cat "$output"
    checks=0 failures=0
    while read -r n_check n_failure n_error; do
        checks=$((checks + n_check)) failures=$((failures + n_failure + n_error))
    done < <(sed -nE 's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+)$/\1 \2 \3/p' \
        "$output")
    if [ "$status" -ne 0 ] && [ "$failures" -eq 0 ]; then
        echo "$program: ended with status $status"
        failures=1 checks=$((checks + 1))
    fi
    passed=$((passed + checks - failures)) failed=$((failed + failures))
done

echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
