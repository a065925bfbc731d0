#!/usr/bin/env bash
# check_hardening.sh - what is built has the protection that the Makefile asks for: addresses that
# the loader chooses, tables of functions that are read-only before main, no executable stack, and
# checked stacks and copies. And it needs no library that only drawing uses: these are opened then.
set -u
cd "$(dirname "$0")/../.." || exit 1

build=${BUILD:-build/release}
status=0

missing() {
    echo "$1: $2"
    status=1
}

for file in "$build/attn-cli" "$build/libattn.so"; do
    headers=$(LC_ALL=C readelf -hlW "$file") || exit 1
    dynamic=$(LC_ALL=C readelf -dW "$file")
    symbols=$(LC_ALL=C readelf -sW "$file")
    grep -q 'Type: *DYN' <<<"$headers" || missing "$file" 'it has a fixed address'
    grep -q GNU_RELRO <<<"$headers" || missing "$file" 'no relro'
    grep -qE 'BIND_NOW|FLAGS.*NOW' <<<"$dynamic" || missing "$file" 'functions are bound late'
    grep -q 'GNU_STACK.*RWE' <<<"$headers" && missing "$file" 'its stack is executable'
    grep -qE 'LOAD.*RWE' <<<"$headers" && missing "$file" 'memory is writable and executable'
    grep -q __stack_chk_fail <<<"$symbols" || missing "$file" 'no checked stack'
    grep -qE '__(memcpy|vsnprintf)_chk' <<<"$symbols" || missing "$file" 'no checked copies'
    grep -E 'NEEDED.*lib(cairo|pango|g?object|glib|fontconfig|freetype|png)' <<<"$dynamic" &&
        missing "$file" 'it is linked with a library that only drawing needs'
    grep -q TEXTREL <<<"$dynamic" && missing "$file" 'code is relocated'
done
exit $status
