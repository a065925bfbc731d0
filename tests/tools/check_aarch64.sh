#!/usr/bin/env bash
# check_aarch64.sh - runs the tests of a build for 64-bit ARM under qemu-user, and compares its bits
# with those of this machine's build; also lets the Python of that processor call every function of the library.
#
#   check_aarch64.sh BUILD NATIVE [PART...]     the two build folders: `make check-aarch64` makes them
#
# PART is products, bits, binding, unit or cli; all of them without.
# What an emulator cannot show is skipped and named, with the reason; so are the torture tests and the
# fuzz corpora, which are the same C on both.
set -u
cd "$(dirname "$0")/../.." || exit 1

. tests/tools/debian.sh

build=$(realpath "$1") native=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- products bits binding unit cli
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
    n=$(aarch64-linux-gnu-objdump -d "$build/lib/core/kernels/vector_gemm_neon.o" |
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

# Python's binding: where the fields of structs lie, arguments and results of all functions (check_calls.sh), and a head of a model
# computed by the library. Python, numpy and the libraries are Debian's for this processor, of the release that runs here.
check_binding() {
    local root=$build/debian libraries=/usr/lib/aarch64-linux-gnu release python
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    debian_unpack arm64 "$release" "$root" python3-numpy libcjson1 libpcre2-8-0 zlib1g >"$scratch/log" 2>&1 ||
        { failed+=("binding: Debian for ARM: $(tail -n 1 "$scratch/log")") && return; }
    python=(qemu-aarch64 -L "$root" -E "LD_LIBRARY_PATH=$libraries/blas:$libraries/lapack" -E "LIBATTN=$build/libattn.so"
        "$root/usr/bin/python3")
    mkdir "$scratch/include" && ln -s "$PWD/lib" "$scratch/include/attn"
    tests/tools/make_layout.sh >"$scratch/layout.c" &&
        aarch64-linux-gnu-gcc -Ilib @lib/folders "-I$scratch/include" "$scratch/layout.c" -o "$scratch/layout" &&
        qemu-aarch64 -L "$root" "$scratch/layout" | diff tests/install/layout.out - || failed+=('binding: layout of structs')
    CC=aarch64-linux-gnu-gcc tests/tools/check_calls.sh "${python[@]}" || failed+=('binding: calls')
    "${python[@]}" lib/examples/one_head.py models/tiny-gpt2 2.1 'The cat sat on the mat' |
        diff tests/install/one_head.out - || failed+=('binding: one_head.py')
    echo "binding: $("${python[@]}" --version) on $("${python[@]}" -c 'import platform; print(platform.machine())')"
}

run_part() { # PART
    BUILD=$emulated ATTN_CLI=$emulated/attn-cli CK_TIMEOUT_MULTIPLIER=20 CASE_SECONDS=3600 \
        "tests/run_$1.sh" ||
        failed+=("tests/run_$1.sh")
}

wrap_all
[[ " $* " != *' unit '* && " $* " != *' cli '* ]] || printf 'skipped %s\n' "${skipped[@]}" \
    'corpora, readme, install, torture: the same C as here, and its surroundings would be qemu'
for test in "${skipped[@]}"; do
    ATTN_SKIP_TESTS="${ATTN_SKIP_TESTS-} ${test%%: *}"
done
export ATTN_SKIP_TESTS
for part; do
    case $part in
    products) check_products ;;
    bits) compare_bits ;;
    binding) check_binding ;;
    unit | cli) run_part "$part" ;;
    *) failed+=("unknown part '$part', expected products, bits, binding, unit or cli") ;;
    esac
done
[ ${#failed[@]} -eq 0 ] || printf 'check-aarch64: %s\n' "${failed[@]}"
[ ${#failed[@]} -eq 0 ] && echo "check-aarch64: nothing found in $*"
