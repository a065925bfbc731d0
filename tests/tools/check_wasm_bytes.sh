#!/usr/bin/env bash
# check_wasm_bytes.sh - the WebAssembly module is made again, from copies of the sources in a folder of another name and
# without a cache of the compiler: it must have the same bytes, and hold no path of either folder.
#
#   check_wasm_bytes.sh MODULE
set -eu
cd "$(dirname "$0")/../.."

module=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy="$work/another folder"
mkdir -p "$copy/tests"
cp -R Makefile .packaging cmd lib models "$copy"
cp -R tests/tools tests/support "$copy/tests"

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL CCACHE_DISABLE=1 TZ=Asia/Tokyo \
    make -C "$copy" MODE=wasm build/wasm/attn.wasm >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
cmp "$module" "$copy/build/wasm/attn.wasm"
if grep -aFo -e "$PWD/" -e "$work" -e /tmp/tmp. -e "${HOME:-/nowhere}/" "$module"; then
    echo "check_wasm_bytes.sh: '$module' holds the path above"
    exit 1
fi
echo "wasm: $(stat -c %s "$module") bytes, the same when made again"
