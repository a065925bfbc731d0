#!/usr/bin/env bash
# check_comments.sh - no table in a comment was torn apart: clang-format joins what follows a line that is too long.
#
#   check_comments.sh FILE...
#
# Refused is a run of three blanks in prose, which a torn table has, and two such runs in any line, which a table of three
# columns has that nothing protects: put it between `/* clang-format off */` and `/* clang-format on */`. A table of two
# columns is indented by three blanks or more. Blanks in "quotes" are output that a comment shows.
set -eu

awk '
FNR == 1 { is_comment = is_fenced = 0 }
/clang-format o(ff|n)/ { is_fenced = /off/ }
{
    text = $0
    sub(/ *\\$/, "", text) # of a macro
    if (!is_comment) {
        gsub(/"([^"\\]|\\.)*"/, "\"\"", text)
        begin = index(text, "/*")
        if (!begin) next
        text = substr(text, begin + 2)
    }
    end = index(text, "*/")
    if (end) text = substr(text, 1, end - 1)
    if (is_comment && !sub(/^ *\*/, "", text)) sub(/^ +/, "", text) # after code
    is_comment = !end
    gsub(/"[^"]*"/, "\"\"", text)
    sub(/ +$/, "", text)
    indent = match(text, /[^ ]/) - 1
    sub(/^ +/, "", text)
    n = gsub(/   +/, "", text)
    if (!is_fenced && (n > 1 || (n == 1 && indent < 3))) {
        print FILENAME ":" FNR ": a table that is torn, or that clang-format may tear: " $0
        status = 1
    }
}
END { exit status }' "$@"
