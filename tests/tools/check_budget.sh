#!/usr/bin/env bash
# check_budget.sh - compares the lines of C with the two numbers of tests/budget: of the core, which is lib/core as Linux builds
# it, and of the whole, which is lib and cmd for all systems. The core may only fall. The source archive has a limit, too.
#
#   check_budget.sh            fails if there are more lines than the numbers, and says which files grew since
#   check_budget.sh --lower    lowers the numbers to the lines that are there
#
# A feature lives outside of the core. Who raises the number of the whole does so in a commit of its own, `budget: raise ...`,
# which says what the lines are for and why no mechanism that was there could carry it.
set -eu
cd "$(dirname "$0")/../.."

count() { find "$@" -name '*.[ch]' -exec cat {} + | wc -l; }

# Lists the files of FOLDERs that grew since tests/budget was written, the largest growth first.
list_growth() { # FOLDER...
    local since
    since=$(git log -1 --format=%H -- tests/budget 2>/dev/null) && [ -n "$since" ] || return 0
    git diff --numstat --no-renames "$since" -- "$@" | awk '/\.[ch]$/ && $1 > $2 { print "  +" $1 - $2, $3 }' | sort -t+ -k2,2nr | head -n 20
}

# The names of sources of other systems: OTHER_SYSTEM of the Makefile, and headers for their C libraries.
most_archive=11000000
others=(! -name '*_macos.[ch]' ! -name '*_windows.[ch]' ! -name '*_wasm.[ch]' ! -name wasi.h)
core=$(find lib/core -name '*.[ch]' "${others[@]}" -exec cat {} + | wc -l)
whole=$(count lib cmd)
read -r _ most_core < <(grep '^core ' tests/budget)
read -r _ most_whole < <(grep '^whole ' tests/budget)
if [ "${1-}" = --lower ]; then
    printf '%s\n' "core $((core < most_core ? core : most_core))" "whole $((whole < most_whole ? whole : most_whole))" >tests/budget
    exit
fi
status=0
[ "$core" -le "$most_core" ] || { status=1 && echo "budget: the core has $core lines, tests/budget $most_core; grown since:" && list_growth lib/core; }
[ "$whole" -le "$most_whole" ] || { status=1 && echo "budget: lib and cmd have $whole lines, tests/budget $most_whole; grown since:" && list_growth lib cmd; }
size=$(git archive HEAD 2>/dev/null | gzip -n9 | wc -c) # of nothing outside of git
[ "$size" -le $most_archive ] || { status=1 && echo "budget: the source archive has $size bytes, expected at most $most_archive: .gitattributes"; }
exit $status
