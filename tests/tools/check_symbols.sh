#!/usr/bin/env bash
# check_symbols.sh - what libattn.so exports is what lib/attn.h, lib/extra.h and lib/ask.h declare as ATTN_API,
# and what tests/install/symbols lists, each after its header: no more, no less. So each change of
# the interface, and each move from one header to another, is seen in a diff.
#
#   check_symbols.sh [--refresh]      --refresh writes the list
set -eu
cd "$(dirname "$0")/../.."

build=${BUILD:-build/release}
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# ATTN_API becomes an attribute; the name is the last word before the first parenthesis after it.
declared_in() {
    ${CC:-cc} -E -P -D_GNU_SOURCE -Ilib @lib/folders -x c "lib/$1" | tr '\n' ' ' | tr ';' '\n' |
        sed -nE 's/^.*visibility\("default"\)\)\)([^(]*[^A-Za-z0-9_(])?([A-Za-z_][A-Za-z0-9_]*) *([[(].*)?$/\2/p' |
        LC_ALL=C sort -u
}

declared_in attn.h >"$scratch/stable"
declared_in extra.h >"$scratch/extra"
declared_in ask.h >"$scratch/declared"
node=@@LIBATTN_$(sed -nE 's/^#define ATTN_ABI (.*)/\1/p' lib/ground/base/version.h)
nm -D --defined-only "$build/libattn.so" | awk -v node="${node#@@}" '$NF != node && $(NF - 1) != "A" { print $NF }' | LC_ALL=C sort -u >"$scratch/versioned"
sed "s/$node$//" "$scratch/versioned" >"$scratch/exported"
{
    sed 's/^/attn.h   /' "$scratch/stable"
    LC_ALL=C comm -13 "$scratch/stable" "$scratch/extra" | sed 's/^/extra.h  /'
    LC_ALL=C comm -13 "$scratch/extra" "$scratch/declared" | sed 's/^/ask.h    /'
} >"$scratch/list"

status=0
! grep -v "$node$" "$scratch/versioned" || { echo "the functions above lack the version node $node" && status=1; }
while read -r name; do
    echo "a public header declares '$name', libattn.so does not export it"
    status=1
done < <(LC_ALL=C comm -23 "$scratch/declared" "$scratch/exported")
while read -r name; do
    echo "libattn.so exports '$name', no public header declares it"
    status=1
done < <(LC_ALL=C comm -13 "$scratch/declared" "$scratch/exported")
[ "${1-}" != --refresh ] || cp "$scratch/list" tests/install/symbols
diff -u --label tests/install/symbols --label 'what is exported' tests/install/symbols "$scratch/list" || status=1
[ -s "$scratch/stable" ] || { echo "no ATTN_API found in lib/attn.h" && status=1; }
exit $status
