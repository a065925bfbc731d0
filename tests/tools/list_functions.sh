#!/usr/bin/env bash
# list_functions.sh - prints a page of the manual: each function of the C interface, with its prototype and what its header says
# of it, to the end of the first sentence. tests/install/symbols has the order, the headers the rest.
set -eu
cd "$(dirname "$0")/../.."

# Prints the path of HEADER below lib: it is in lib or in a room.
path_of() { # HEADER
    local path
    for path in "lib/$1" lib/*/"$1"; do
        [ ! -e "$path" ] || { echo "${path#lib/}" && return; }
    done
}

# Prints "NAME|HEADER|PROTOTYPE|TEXT" for each ATTN_API of a header, its path below lib.
list_header() { # HEADER
    awk -v header="$1" '
        function tidy(s) { gsub(/\/\*|\*\//, "", s); gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }
        function first(s) { if (match(s, /[.;:] /)) s = substr(s, 1, RSTART); sub(/[;:]$/, ".", s); return s }
        in_comment { if (/\*\//) in_comment = 0; sub(/\*\//, ""); sub(/^ *\* ?/, ""); text = text " " $0; next }
        /^\/\*/ { text = $0; in_comment = !/\*\//; next }
        /^(ATTN_API|extern ATTN_EXPORTED) / { declaration = ""; taking = 1 }
        taking {
            line = $0
            note = ""
            if (match(line, /\/\*.*/)) { note = substr(line, RSTART); line = substr(line, 1, RSTART - 1) }
            declaration = declaration " " line
            if (line ~ /; *$/) {
                taking = 0
                declaration = tidy(declaration); sub(/^(ATTN_API|extern ATTN_EXPORTED) /, "", declaration)
                sub(/ ATTN_[A-Z_]+\(.*\);$/, ";", declaration)
                name = declaration; sub(/[([;].*/, "", name); sub(/.*[ *]/, "", name)
                said = first(tidy(note == "" ? text : note)); gsub(/\|/, "\\|", said)
                if (said == "" && name ~ /_(free|release)$/) said = "Frees it."
                if (text !~ /^[\/* ]*(Return|Set|Read|Write) /) text = "" # the comment is of this function alone
                print name "|" header "|" declaration "|" said
            }
            next
        }
        /^$/ { text = "" }' "lib/$1"
}

functions=$(mktemp)
trap 'rm -f "$functions"' EXIT
while read -r header; do
    list_header "$(path_of "$header")"
done < <(sed -nE 's/^#include "([^"]+)".*/\1/p' lib/attn.h lib/extra.h lib/ask.h | LC_ALL=C sort -u) >"$functions"

cat <<'END'
# The C functions

This page is made from the headers, which say all of it: a function's failures, what it owns, the fields of its structs.
[lib/README.md](../../../lib/README.md) says where everything is. The functions of `attn.h` stay while `ATTN_ABI` does
([what stays](stability.md)); those of `extra.h` and `ask.h` may change with the first two numbers of the version.
END
for interface in attn.h extra.h ask.h; do
    printf '\n## attn/%s\n\n| function | header | |\n|---|---|---|\n' "$interface"
    while read -r _ name; do
        IFS='|' read -r _ header declaration said < <(grep "^$name|" "$functions") ||
            { echo "list_functions.sh: no header declares '$name'" >&2 && exit 1; }
        printf '| `%s` | [%s](../../../lib/%s) | %s |\n' "$declaration" "$header" "$header" "$said"
    done < <(grep "^$interface " tests/install/symbols)
done
printf '\nBefore: [What stays](stability.md) · Next: [For distributors](distributors.md) · [Contents](../README.md)\n'
