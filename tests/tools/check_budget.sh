#!/usr/bin/env bash
# check_budget.sh - compares the lines of C with the three numbers of tests/budget: of lib/ground and of lib/core as Linux builds
# them, and of the whole, which is lib and cmd for all systems. Ground and core may only fall. The source archive has a limit, too.
#
#   check_budget.sh            fails if there are more lines than the numbers, and says which files grew since
#   check_budget.sh --lower    lowers the numbers to the lines that are there
#
# A feature lives outside of ground and core. Who raises the number of the whole does so in a commit of its own, `budget: raise ...`,
# which says what the lines are for and why no mechanism that was there could carry it.
set -eu
cd "$(dirname "$0")/../.."

count() { # FOLDER... [TEST...]: of find
    find "$@" -name '*.[ch]' -exec cat {} + | wc -l
}

# Lists the files of FOLDERs that grew since tests/budget was written, the largest growth first.
list_growth() { # FOLDER...
    local since
    since=$(git log -1 --format=%H -- tests/budget 2>/dev/null) && [ -n "$since" ] || return 0
    git diff --numstat --no-renames "$since" -- "$@" | awk '/\.[ch]$/ && $1 > $2 { print "  +" $1 - $2, $3 }' | sort -t+ -k2,2nr | head -n 20
}

# The names of sources of other systems: OTHER_SYSTEM of the Makefile, and headers for their C libraries.
most_archive=11000000
others=(! -name '*_macos.[ch]' ! -name '*_windows.[ch]' ! -name '*_wasm.[ch]' ! -name wasi.h)
declare -A folders=([ground]=lib/ground [core]=lib/core [whole]='lib cmd') lines=(
    [ground]=$(count lib/ground "${others[@]}") [core]=$(count lib/core "${others[@]}") [whole]=$(count lib cmd))
status=0
while read -r name most; do
    if [ "${1-}" = --lower ]; then
        echo "$name $((lines[$name] < most ? lines[$name] : most))" >>tests/budget.new
    elif [ "${lines[$name]}" -gt "$most" ]; then
        status=1
        echo "budget: ${folders[$name]} has ${lines[$name]} lines, tests/budget $most; grown since:"
        # shellcheck disable=SC2086 # a list of folders
        list_growth ${folders[$name]}
    fi
done <tests/budget
[ "${1-}" != --lower ] || { mv tests/budget.new tests/budget && exit; }
size=$(git archive HEAD 2>/dev/null | gzip -n9 | wc -c) # of nothing outside of git
[ "$size" -le $most_archive ] || { status=1 && echo "budget: the source archive has $size bytes, expected at most $most_archive: .gitattributes"; }
exit $status
