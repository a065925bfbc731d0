#!/usr/bin/env bash
# zig.sh - makes a compiler for another C library or processor, of PyPI's ziglang.
#
#   zig.sh TARGET      writes build/zig/TARGET/cc and build/zig/ar, and prints nothing; TARGET as zig names it:
#                      x86_64-linux-gnu.2.28, aarch64-linux-gnu.2.28, x86_64-linux-musl, x86_64-windows-gnu,
#                      aarch64-macos.11.0
#
# A program or library runs with that version of glibc and every later one. PYTHON, whose pip is used, and PIP_INDEX_URL
# may be set.
set -eu

cd "$(dirname "$0")/.."
version=0.17.1
sha256=ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54 # of the wheel for x86-64
zig=$PWD/build/zig/ziglang-$version

if [ ! -e "$zig/ziglang/zig" ]; then
    mkdir -p build/zig
    echo "ziglang==$version --hash=sha256:$sha256" >build/zig/requirements
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
        --no-deps --target "$zig.part" -r build/zig/requirements
    chmod +x "$zig.part/ziglang/zig"
    mv "$zig.part" "$zig"
fi
mkdir -p "build/zig/$1"
# By itself zig traps undefined behaviour and removes assertions.
write() { # FILE ARGUMENTS
    printf '#!/bin/sh\nexec "%s/ziglang/zig" %s "$@"\n' "$zig" "$2" >"$1.$$"
    chmod +x "$1.$$"
    cmp -s "$1.$$" "$1" && rm "$1.$$" || mv "$1.$$" "$1" # a newer one is another compiler to make and ccache
}
write "build/zig/$1/cc" "cc -target $1 -fno-sanitize=undefined -UNDEBUG"
write build/zig/ar ar
