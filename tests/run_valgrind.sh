#!/usr/bin/env bash
# run_valgrind.sh - runs unit tests under valgrind's memcheck, all of the build or the given ones.
#
# Each in one process (CK_FORK=no), on the processor that valgrind knows: without AVX-512. Left out
# are the suites that measure what attn-cli takes (test_cli_*) and two that take too long:
# test_gemm, whose thousands of kernels each are new code to translate (test_gemm_linear uses kernels
# as the models do), and test_model_damaged, which opens a model for every bit of it.
set -u
cd "$(dirname "$0")/.." || exit 1

command -v valgrind >/dev/null || { echo 'no valgrind (Debian package valgrind)' && exit 1; }
build=${BUILD:-build/release}
passed=0 failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

programs=("$@")
if [ $# -eq 0 ]; then
    for source in tests/unit/test_*.c; do
        programs+=("$build/tests/unit/$(basename "$source" .c)")
    done
fi

for program in "${programs[@]}"; do
    case $program in
    */test_cli_* | */test_gemm | */test_model_damaged) continue ;;
    esac
    start=$SECONDS
    CK_FORK=no valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
        --suppressions=tests/valgrind.supp "$program" >"$output" 2>&1 </dev/null
    status=$?
    echo "$program: status $status, $((SECONDS - start)) s"
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        cat "$output"
    fi
done
echo "valgrind: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
