#!/usr/bin/env bash
# check_headers.sh - every header compiles alone; public ones are short, include no internal one, and compile as C11 and
# as C++17 without extensions.
#
# A public header holds public things alone; x_internal.h holds what x.h declares for the library.
# Public are the headers that lib/attn.h, lib/extra.h and lib/ask.h name, and base/api.h, whose macros they are
# written with. lib/ground/base/os/wasi.h is for another system. What attn.h names does not include what extra.h names, nor that what ask.h names.
set -eu
cd "$(dirname "$0")/../.."

build=${BUILD:-build/release}
max_lines=170
status=0

fail() {
    echo "$*"
    status=1
}

includes_of() { sed -nE 's/^#include "([^"]+)".*/\1/p' "$1"; }

while read -r header; do
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -DATTN_ISA=baseline -Ilib @lib/folders -I. @"$build/libraries.cflags" \
        -Wall -Wextra -Wno-unused-function -Werror -fsyntax-only -include "$header" -x c /dev/null ||
        fail "$header: does not compile alone"
done < <(find lib cmd tests/support -name '*.h' ! -name wasi.h | LC_ALL=C sort)

# Programs in C and C++ include them, without extensions of a compiler.
for header in attn.h extra.h ask.h; do
    for language in 'c c11' 'c++ c++17'; do
        read -r kind standard <<<"$language"
        echo "#include \"$header\"" |
            ${CC:-cc} -std="$standard" -pedantic-errors -Wall -Wextra -Werror -Ilib @lib/folders -fsyntax-only -x "$kind" - ||
            fail "lib/$header: does not compile as $standard"
    done
done

# Prints the path of HEADER, which is in lib or in a folder of it.
path_of() { # HEADER
    local path
    for path in "lib/$1" lib/*/"$1"; do
        [ ! -e "$path" ] || { echo "$path" && return; }
    done
}

stable=$(echo base/api.h && includes_of lib/attn.h)
extra=$(echo "$stable" && echo attn.h && includes_of lib/extra.h)
ask=$(echo "$extra" && echo extra.h && includes_of lib/ask.h)
for header in ask.h $(LC_ALL=C sort -u <<<"$ask"); do
    may_include=$ask
    ! grep -qxF "$header" <<<"$extra"$'\n'extra.h || may_include=$extra
    ! grep -qxF "$header" <<<"$stable" || may_include=$stable
    path=$(path_of "$header")
    lines=$(wc -l <"$path")
    [ "$lines" -lt $max_lines ] || fail "$path: $lines lines, a public header has less than $max_lines"
    found=$(grep -E '^[a-z][^#]*\battn_[a-z_]+\(' "$path" | grep -vE '^(static|typedef)') && fail "$path: declares what is not exported: $found"
    for target in $(includes_of "$path"); do
        grep -qwF "$target" <<<"$may_include" ||
            fail "$path: is public and includes '$target', which its list does not name"
    done
done
exit $status
