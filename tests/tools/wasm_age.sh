#!/usr/bin/env bash
# wasm_age.sh - prints `new` for a build/wasm/attn.wasm that no source is newer than, `old` for
# another one, and `none`. It is made by make wasm alone, and would be installed beside a newer tool.
set -eu
cd "$(dirname "$0")/../.."

module=build/wasm/attn.wasm
if [ ! -e $module ]; then
    echo none
elif [ -n "$(find cmd lib -name '*.[chS]' -newer $module -print -quit)" ]; then
    echo old
else
    echo new
fi
