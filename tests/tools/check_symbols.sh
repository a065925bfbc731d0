#!/usr/bin/env bash
# check_symbols.sh - what libattn.so exports is what lib/attn.h declares as ATTN_API, and what
# tests/install/symbols lists: no more, no less. So each change of the interface is seen in a diff.
#
#   check_symbols.sh [--refresh]      --refresh writes the list
set -eu
cd "$(dirname "$0")/../.."

build=${BUILD:-build/release}
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# ATTN_API becomes an attribute; the name is the last word before the first parenthesis after it.
${CC:-cc} -E -P -D_GNU_SOURCE -Ilib -x c lib/attn.h | tr '\n' ' ' | tr ';' '\n' |
    sed -nE 's/^.*visibility\("default"\)\)\)([^(]*[^A-Za-z0-9_(])?([A-Za-z_][A-Za-z0-9_]*) *(\(.*)?$/\2/p' |
    LC_ALL=C sort -u >"$scratch/declared"
nm -D --defined-only "$build/libattn.so" | awk '{ print $NF }' | LC_ALL=C sort -u >"$scratch/exported"

status=0
while read -r name; do
    echo "lib/attn.h declares '$name', libattn.so does not export it"
    status=1
done < <(comm -23 "$scratch/declared" "$scratch/exported")
while read -r name; do
    echo "libattn.so exports '$name', lib/attn.h does not declare it"
    status=1
done < <(comm -13 "$scratch/declared" "$scratch/exported")
[ "${1-}" != --refresh ] || cp "$scratch/exported" tests/install/symbols
diff -u --label tests/install/symbols --label 'what is exported' tests/install/symbols "$scratch/exported" || status=1
[ -s "$scratch/declared" ] || { echo "no ATTN_API found in lib/attn.h" && status=1; }
exit $status
