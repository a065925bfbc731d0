#!/usr/bin/env bash
# check_abi.sh - a program that was compiled with attn.h of the last release runs with today's library, while ATTN_ABI stays.
#
#   check_abi.sh             compares attn.h with tests/install/abi-NUMBER-VERSION.xml.gz, the ABI of the last release
#   check_abi.sh --keep      replaces that file by the ABI of a new version, unless it breaks the rule of attn.h
#
# Before the release of VERSION, while ATTN_VERSION is VERSION.dev0, the file of VERSION may be there already, and be renewed.
#
# abidiff compares the types of all functions, and with them structs and enums. A struct that may grow begins with `size` or
# ends with `later`; abidiff cannot express that, so each field is a variable, and its offset the number of an enum. So is the
# size of the struct, unless `size` gives it: not where a function returns the struct or takes it by value.
set -eu
cd "$(dirname "$0")/../.."

number() { sed -nE "s/^#define $1 \"?([-0-9.a-z]+)\"?$/\1/p" lib/ground/base/version.h; }
debian() { .packaging/facts.sh versions "$1" | sed -n 's/^debian //p'; } # sorts as versions follow each other
fail() { printf 'abi: %s\n' "$@" && exit 1; }

# Prints variables: a pointer to each function of attn.h, and the fields of its structs that may grow, or that might once.
variables() {
    sed -nE 's/^attn\.h +(.*)/__typeof__(\1) *function__\1;/p' tests/install/symbols
    ${CC:-cc} -E -P -D_GNU_SOURCE -Ilib @lib/folders lib/attn.h | awk -v growing=" $growing " '
        function emit(   i) {
            if (!(name in is_public) || (field[1] != "size" && field[n] != "later" && !index(growing, " " name " "))) return
            printf "enum %s__layout {", name
            for (i = 1; i <= n; i++)
                if (field[i] != "later") printf " %s__%s__at = __builtin_offsetof(struct %s, %s),", name, field[i], name, field[i]
            has_size = field[1] == "size" && text !~ "struct " name " [a-z_0-9]+ ?[(,)]"
            printf "%s} %s__is;\n", has_size ? "" : " " name "__sizeof = sizeof(struct " name ")", name
            for (i = 1; i <= n; i++)
                if (field[i] != "later") printf "__typeof__(((struct %s *)0)->%s) %s__%s;\n", name, field[i], name, field[i]
        }
        NR == FNR { text = text " " $0; if (match($0, /^struct attn_[a-z_0-9]+ \{/)) is_public[substr($0, 8, RLENGTH - 9)]; next }
        /^attn_/ { emit(); name = $1; n = 0 }
        /^ / { field[++n] = $1 }
        END { emit() }' - tests/install/layout.out
}

describe() {
    { echo '#include "attn.h"' && variables; } >"$scratch/abi.c"
    ${CC:-cc} -std=gnu11 -g -shared -fPIC -D_GNU_SOURCE -Ilib @lib/folders "$scratch/abi.c" -o "$scratch/abi.so"
    abidw --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --no-parameter-names "$scratch/abi.so"
}

# The last number of an enum, ATTN_N_..., may change.
compare() {
    printf '[suppress_type]\n  type_kind = struct\n  name_regexp = ^(%s)$\n' "${growing// /|}" >"$scratch/suppressed"
    printf '[suppress_type]\n  type_kind = enum\n  changed_enumerators = %s\n' \
        "$(grep -oE "'ATTN_N_[A-Z_]+'" "$scratch/kept.xml" | tr -d "'" | sort -u | paste -sd,)" >>"$scratch/suppressed"
    abidiff --no-added-syms --suppressions "$scratch/suppressed" "$scratch/kept.xml" "$scratch/now.xml" ||
        fail "a program that was compiled with $kept_version breaks: .packaging/README.md, \"The binary interface\""
}

abi=$(number ATTN_ABI) version=$(number ATTN_VERSION)
next=${version%.dev*} # the release that has this version, or follows it
kept=$(echo tests/install/abi-*.xml.gz)
[ -e "$kept" ] || fail "found '$kept', expected one file: that of the last release"
IFS=- read -r _ kept_abi kept_version <<<"$(basename "$kept" .xml.gz)"
printf '%s\n' "$(debian "$kept_version")" "$(debian "$next")" | sort -VC || fail "ATTN_VERSION is $version, expected one of $kept_version or later"
[ "$abi" -ge "$kept_abi" ] || fail "ATTN_ABI is $abi, that of $kept_version was $kept_abi"
if ! command -v abidiff >/dev/null; then
    [ $# -eq 0 ] || fail 'abidiff is missing: the Debian package abigail-tools has it'
    echo 'abi: skipped, abidiff is missing (Debian package abigail-tools)' && exit
fi

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
gzip -dc "$kept" >"$scratch/kept.xml"
growing=$(sed -nE "s/.*<enum-decl name='(attn_.*)__layout'.*/\1/p" "$scratch/kept.xml" | paste -sd' ')
describe >"$scratch/now.xml"
if [ "$abi" -gt "$kept_abi" ]; then
    echo "abi: no release has ABI $abi, so it may change; $kept_version has ABI $kept_abi"
else
    compare
fi
if [ "${1-}" = --keep ]; then
    [ "$version" != "$kept_version" ] ||
        fail "ATTN_VERSION is $version, expected one after $kept_version, whose ABI stays as it was released"
    rm "$kept"
    gzip -n9 <"$scratch/now.xml" >"tests/install/abi-$abi-$next.xml.gz"
elif [ "$version" = "$next" ] && [ "$version" != "$kept_version" ]; then
    fail "ATTN_VERSION is $version, and the kept ABI that of $kept_version: make abi"
fi
