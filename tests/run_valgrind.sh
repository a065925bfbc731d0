#!/usr/bin/env bash
# run_valgrind.sh - runs unit tests under valgrind's memcheck, all of the build or the given ones.
#
# Each in one process (CK_FORK=no), on the processor that valgrind knows: without AVX-512. Left out
# are the suites that measure what attn-cli takes (test_cli_*) and two that take too long:
# test_gemm, whose thousands of kernels each are new code to translate (test_gemm_linear uses kernels
# as the models do), and test_model_damaged, which opens a model for every bit of it.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

command -v valgrind >/dev/null || { echo 'no valgrind (Debian package valgrind)' && exit 1; }

check_program() { # PROGRAM
    local output status start=$SECONDS
    output=$(CK_FORK=no valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
        --suppressions=tests/valgrind.supp "$1" 2>&1)
    status=$?
    echo "$1: status $status, $((SECONDS - start)) s"
    if [ $status -eq 0 ]; then
        pass
    else
        printf '%s\n' "$output"
        fail "tests/run_valgrind.sh $1"
    fi
}

programs=("$@")
if [ $# -eq 0 ]; then
    for source in tests/unit/test_*.c; do
        programs+=("$build/tests/unit/$(basename "$source" .c)")
    done
fi
chosen=()
for program in "${programs[@]}"; do
    case $program in
    */test_cli_* | */test_gemm | */test_model_damaged) ;;
    *) chosen+=("$program") ;;
    esac
done
side_by_side check_program "${chosen[@]}"
finish valgrind
