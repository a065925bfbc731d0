#!/usr/bin/env bash
# run_unit.sh - runs the unit tests: all programs of the build or the given ones, side by side.
#
#   run_unit.sh [PROGRAM...]
#
# A program that ends badly although none of its tests failed (a crash outside of a test, a leak
# found at its end) counts as one failure.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

# A refused allocation is a result that tests ask for, not a reason to stop.
export ASAN_OPTIONS=allocator_may_return_null=1:${ASAN_OPTIONS-}
export TSAN_OPTIONS=allocator_may_return_null=1:${TSAN_OPTIONS-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS-}

# ThreadSanitizer of gcc 12 finds no room for its shadow on kernels that randomize addresses widely.
fixed_addresses=()
[[ $build == */tsan ]] && setarch -R true 2>/dev/null && fixed_addresses=(setarch -R)

# How one program is run again: in other builds by this script, which sets what these need.
by_hand=
[ "$build" = build/release ] || by_hand='tests/run_unit.sh '

# Check tells of a failed test as FILE:LINE:F:CASE:TEST:0: MESSAGE (E: it crashed).
run_program() { # PROGRAM
    local output n_check=0 test status tests=() count='[0-9]+%: Checks: ([0-9]+), '
    output=$("${fixed_addresses[@]}" "$1" 2>&1)
    status=$?
    printf '%s\n' "$output"
    [[ ! $output =~ $count ]] || n_check=${BASH_REMATCH[1]}
    [ $status -eq 0 ] || mapfile -t tests < <(sed -nE 's/^.+:-?[0-9]+:[FE]:([A-Za-z0-9_]+):.*/\1/p' <<<"$output" | sort -u)
    pass $((n_check - ${#tests[@]}))
    for test in "${tests[@]}"; do
        fail "CK_RUN_CASE=$test $by_hand$1"
    done
    if [ $status -ne 0 ] && [ ${#tests[@]} -eq 0 ]; then
        echo "$1: ended with status $status"
        fail "$by_hand$1"
    fi
}

programs=("$@")
if [ $# -eq 0 ]; then
    for source in tests/unit/test_*.c; do
        programs+=("$build/tests/unit/$(basename "$source" .c)")
    done
fi
side_by_side run_program "${programs[@]}"
finish unit
