#!/usr/bin/env bash
# check_aarch64.sh - runs the tests of a build for 64-bit ARM under qemu-user, and compares its bits
# with those of this machine's build.
#
#   check_aarch64.sh BUILD NATIVE     the two build folders: `make check-aarch64` makes them
#
# What an emulator cannot show is skipped and named, with the reason; so are the torture tests and the
# fuzz corpora, which are the same C on both.
set -u
cd "$(dirname "$0")/../.." || exit 1

build=$(realpath "$1") native=$(realpath "$2")
emulated=$build/emulated
failed=()
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Tests, or cases of the command line, and why they are left out.
of_qemu='the memory of qemu would count, too'
soon='it rests on the time that something takes'
skipped=(
    "without_executable_memory_the_portable_loop_serves: qemu-user has no seccomp"
    "computes_what_the_library_computes: it starts the example, which needs the emulator"
    "takes_memory_for_a_large_header_in_proportion: $of_qemu"
    "takes_little_memory_for_lines_that_are_no_merges: $of_qemu"
    "takes_memory_for_bytes_that_are_replaced_in_proportion: $of_qemu"
    "refuses_what_is_deep_or_long: $soon"
    "a_long_run_takes_what_the_manual_says: $of_qemu"
    "the_pages_of_packed_weights_are_given_back: $of_qemu"
    "tests/cli/batch/files.test:input_that_grows: $soon"
    "tests/cli/batch/records.test:too_many_failures: $soon"
    "tests/cli/run/model.test:built_in_models_need_no_file: it copies the tool, here a script that runs qemu"
)

# --- What is run --------------------------------------------------------------------------------

# A script that runs PROGRAM emulated, so that shells and other programs can start it.
wrap() { # PROGRAM SCRIPT
    mkdir -p "$(dirname "$2")"
    printf '#!/bin/sh\nexec qemu-aarch64 "%s" "$@"\n' "$1" >"$2"
    chmod +x "$2"
}

wrap_all() {
    local source name
    rm -rf "$emulated"
    wrap "$build/attn-cli" "$emulated/attn-cli"
    for source in tests/unit/test_*.c; do
        name=tests/unit/$(basename "$source" .c)
        wrap "$build/$name" "$emulated/$name"
    done
}

# --- What is compared ---------------------------------------------------------------------------

# The loop of the product multiplies and adds by one instruction, four lanes at a time.
check_products() {
    local n
    n=$(aarch64-linux-gnu-objdump -d "$build/lib/kernels/vector_gemm_neon.o" |
        grep -cE 'fmla[[:space:]]+v[0-9]+\.4s')
    [ "$n" -ge 16 ] || failed+=("vector_gemm_neon.o has $n fmla of four lanes, expected 16 or more")
    echo "products: $n fmla of four lanes"
}

# Every tensor of a run, on both: the files must be equal, byte for byte.
compare_run() { # ARGUMENTS of run
    "$native/attn-cli" run -q --sites '*' "$@" --npz "$scratch/native.npz" >/dev/null 2>&1 || return 1
    "$emulated/attn-cli" run -q --sites '*' "$@" --npz "$scratch/emulated.npz" >/dev/null &&
        cmp "$scratch/native.npz" "$scratch/emulated.npz" || failed+=("other bits: run $*")
    compared=$((compared + 1))
}

compare_bits() {
    local config model ids compared=0
    ids=$(for i in {0..69}; do echo -n "$((i * 7 % 31)) "; done)
    for config in models/*/config.json tests/fixtures/*/config.json; do
        model=$(dirname "$config")
        compare_run -m "$model" --ids '1 0 2 1 1 0' || compare_run -m "$model" --ids '1 0 2' ||
            echo "bits: skipped $model, which takes a second sequence"
    done
    compare_run -m tests/fixtures/gpt2-long --ids "$ids"
    compare_run -m models/tiny-gpt2 -p 'The cat sat on the mat, because it was tired.'
    [ $compared -ge 40 ] || failed+=("bits: only $compared runs were compared")
    echo "bits: $compared runs give the same bytes as on $(uname -m)"
}

run_part() { # PART
    BUILD=$emulated ATTN_CLI=$emulated/attn-cli CK_TIMEOUT_MULTIPLIER=20 CASE_SECONDS=3600 \
        "tests/run_$1.sh" ||
        failed+=("tests/run_$1.sh")
}

wrap_all
check_products
compare_bits
for test in "${skipped[@]}"; do
    echo "skipped $test"
    ATTN_SKIP_TESTS="${ATTN_SKIP_TESTS-} ${test%%: *}"
done
export ATTN_SKIP_TESTS
echo 'skipped corpora, readme, install, torture: the same C as here, and its surroundings would be qemu'
run_part unit
run_part cli

[ ${#failed[@]} -eq 0 ] || printf 'check-aarch64: %s\n' "${failed[@]}"
[ ${#failed[@]} -eq 0 ] && echo 'check-aarch64: nothing found'
