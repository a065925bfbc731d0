#!/usr/bin/env bash
# check_namesakes.sh - a header's functions are defined in the source of its name, and called by more than tests.
#
#   check_namesakes.sh            prints each function that is defined elsewhere, or called nowhere; 1 when there is one
#   check_namesakes.sh --count    how many, of how many declared; and the files of 60 lines or fewer
#
# x.h belongs to x.c; x_internal.h, which the sources of a room share, and x_extra.h, which has
# public functions beside x.h that may still change, to any source of its folder.
# Headers without a namesake by design are exempt: listed below, with the reason.
set -u
cd "$(dirname "$0")/../.." || exit 1

exempt='^lib/core/kernels/vector\.h$' # compiled once an instruction set, from lib/core/kernels/vector_*.c
of_system='_(linux|macos|posix|windows|wasm)\.c$' # one system's part of what several headers declare

# One line a function that is visible outside its file: FILE (declared or defined) NAME.
list_functions() {
    awk '
    FNR == 1 { depth = 0; text = ""; is_comment = is_macro = is_cplusplus = 0 }
    {
        line = $0
        if (is_macro || line ~ /^[ \t]*#/) {
            if (line ~ /^[ \t]*#[ \t]*ifdef[ \t]+__cplusplus/) is_cplusplus = 1
            if (line ~ /^[ \t]*#[ \t]*endif/) is_cplusplus = 0
            is_macro = line ~ /\\$/
            next
        }
        if (is_cplusplus) next
        if (is_comment) {
            if (line !~ /\*\//) next
            sub(/^.*\*\//, "", line)
            is_comment = 0
        }
        gsub(/"([^"\\]|\\.)*"/, "", line)
        gsub(/\047([^\047\\]|\\.)*\047/, "", line)
        gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
        sub(/\/\/.*$/, "", line)
        if (line ~ /\/\*/) { sub(/\/\*.*$/, "", line); is_comment = 1 }
        n = length(line)
        if (depth > 0 && line !~ /[{}]/) next
        for (i = 1; i <= n; i++) {
            c = substr(line, i, 1)
            if (c == "{") { if (depth++ == 0) say("defined") }
            else if (c == "}") { if (--depth == 0) text = text ~ /=/ ? text : "" }
            else if (depth == 0 && c == ";") { say("declared"); text = "" }
            else if (depth == 0) text = text c
        }
        text = text " "
    }
    function say(what,    head) {
        head = text
        if (head ~ /(^|[ \t])(static|typedef)[ \t]/ || head ~ /=/ || head !~ /\(/) return
        sub(/[ \t]*\(.*$/, "", head)
        sub(/^.*[ \t*]/, "", head)
        if (head ~ /^[A-Za-z_][A-Za-z0-9_]*$/ && head !~ /^[A-Z_0-9]+$/) print FILENAME, what, head
    }' "$@"
}

# `word NAME N` of each word outside of comments: a function that is declared and defined alone has N 2.
count_words() {
    sed -E 's,/\*.*\*/,,; /^ *(\/\*|\*( |\/|$))/d' "$@" | grep -oE '\b[a-z_][a-z0-9_]+' | LC_ALL=C sort | uniq -c | awk '{ print "word", $2, $1 }'
}

mapfile -t files < <(find lib cmd -name '*.[ch]' | LC_ALL=C sort)
found=$({ sed 's/^/exported /' tests/install/symbols; count_words "${files[@]}"; list_functions "${files[@]}"; } | awk -v exempt="$exempt" -v of_system="$of_system" '
    $1 == "exported" { is_called[$3] = 1 }
    $1 == "word" && $3 > 2 { is_called[$2] = 1 }
    $1 ~ /\.h$/ && $2 == "declared" { header[$3] = $1 }
    $1 ~ /\.c$/ && $1 !~ of_system && $2 == "defined" { source[$3] = $1 }
    END {
        for (name in header) {
            if (!(name in source) || header[name] ~ exempt) continue
            declared++
            if (!(name in is_called)) print header[name] ": '"'"'" name "'"'"' is called by nothing but tests"
            module = substr(header[name], 1, length(header[name]) - 2)
            is_internal = sub(/_(internal|extra)$/, "", module)
            if (source[name] == module ".c") continue
            sub(/[^\/]*$/, "", module)
            if (is_internal && index(source[name], module) == 1) continue
            print header[name] ": '"'"'" name "'"'"' is defined in " source[name]
        }
        print "declared", declared + 0
    }' | LC_ALL=C sort)
# NAME_baseline.o is also what the Makefile makes of NAME.c for an instruction set, and takes first.
variants=$(find lib cmd -regex '.*_\(baseline\|avx2\|avx512\|neon\|relaxed\)\.c' -printf '%p: the Makefile builds it as a variant of another source\n')
offenders=$({ grep -v '^declared ' <<<"$found"; echo "$variants"; } | grep .)

if [ "${1-}" = --count ]; then
    declared=$(sed -n 's/^declared //p' <<<"$found")
    echo "$(grep -c . <<<"$offenders") of $declared functions are defined outside their header's namesake"
    wc -l "${files[@]}" | awk '$2 != "total" { n++; if ($1 <= 60) short++ }
        END { print short " of " n " files have 60 lines or fewer" }'
    exit 0
fi
[ -z "$offenders" ] || echo "$offenders"
[ -z "$offenders" ]
