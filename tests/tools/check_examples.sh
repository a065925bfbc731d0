#!/usr/bin/env bash
# check_examples.sh - the examples in the headers of attn.h, extra.h and ask.h compile against these headers alone, as C11
# without extensions, and call only functions that libattn.so exports.
#
#   check_examples.sh [HEADER...]      HEADER: as attn.h names it, "run/host.h"; all of them by default
#
# An example is a part of a comment that is indented by four blanks, with a line that ends in ';' and a name of the
# library. It becomes the body of a function; functions that it defines come before that. Names that it uses and does not declare are in
# tests/install/example_names.h, for all examples or for those of one header. A line of dots, "...", or one that begins
# and ends with dots, "... write the page ...", stands for other code.
set -eu
cd "$(dirname "$0")/../.."

build=${BUILD:-build/release}
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
status=0

includes_of() { sed -nE 's/^#include "([^"]+)".*/\1/p' "$1"; }

# The examples of a header, each as a function; those of its lines that are no code are dropped.
extract() { # HEADER
    local path
    for path in "lib/$1" lib/*/"$1"; do
        [ ! -e "$path" ] || break
    done
    awk -v header="${path#lib/}" '
        function flush(    i, last, is_statement, has_name, is_function) {
            for (i = 1; i <= n; i++) {
                plain = lines[i]
                sub(/ *\/[*\/].*$/, "", plain)
                is_statement = is_statement || plain ~ /;$/
                has_name = has_name || lines[i] ~ /(attn|ATTN)_/
                if (plain == "{")
                    is_function = 1
                if (plain == "}" && is_function)
                    last = i
            }
            if (is_statement && has_name) {
                number++
                for (i = 1; i <= last; i++)
                    print (i == 1 ? "#line " first " \"lib/" header "\"\n" : "") lines[i]
                printf "static void example_%d(void)\n{\n#line %d \"lib/%s\"\n", number, first + last, header
                for (i = last + 1; i <= n; i++)
                    print lines[i]
                print "}"
            }
            n = 0
        }
        /^ \*     / {
            line = substr($0, 8)
            sub(/ *\*\/$/, "", line)
            if (n == 0)
                first = NR
            if (line ~ /^ *\.\.\.( .* \.\.\.)?$/)
                line = ""
            lines[++n] = line
            next
        }
        { flush() }
        END { flush() }' "$path"
}

mkdir -p "$scratch/include/attn"
ln -s "$PWD"/lib/*.h "$PWD"/lib/*/*/ "$scratch/include/attn"
stable=$(echo attn.h && includes_of lib/attn.h)
extra=$(echo extra.h && includes_of lib/extra.h)
n_example=0 objects=()
for header in ${*:-$stable $(printf '%s\n' "$extra" "$(includes_of lib/ask.h)" | LC_ALL=C sort -u | grep -vxF "$stable")}; do
    all=ask.h
    ! grep -qxF "$header" <<<"$extra" || all=extra.h
    ! grep -qxF "$header" <<<"$stable" || all=attn.h
    extract "$header" >"$scratch/body"
    [ -s "$scratch/body" ] || continue
    name=$(tr -c 'a-z0-9\n' _ <<<"$header")
    {
        printf '#include <attn/%s>\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n' $all
        printf '#define IN_%s 1\n#include "tests/install/example_names.h"\n' "$name"
        cat "$scratch/body"
        sed -nE 's/^static void (example_[0-9]+)\(void\)$/\1/p' "$scratch/body" |
            awk -v name="$name" '{ text = text "    " $0 "();\n" }
                END { printf "void %s(void);\nvoid %s(void)\n{\n%s}\n", name, name, text }'
    } >"$scratch/$name.c"
    n_example=$((n_example + $(grep -c '^static void example_' "$scratch/body")))
    if ${CC:-cc} -std=c11 -pedantic-errors -Wall -Werror -Wno-unused -Wno-uninitialized -Wno-maybe-uninitialized -fPIC \
        -I"$scratch/include" -Ilib @lib/folders -I. -c "$scratch/$name.c" -o "$scratch/$name.o"; then
        objects+=("$scratch/$name.o")
    else
        status=1
    fi
done
${CC:-cc} -shared -Wl,-z,defs "${objects[@]}" "$build/libattn.so" -lm -o "$scratch/examples.so" || status=1
[ $n_example -gt 0 ] || { echo 'check_examples: no examples found' && status=1; }
[ $status -ne 0 ] || [ $# -gt 0 ] || echo "check_examples: $n_example examples compile"
exit $status
