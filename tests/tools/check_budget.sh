#!/usr/bin/env bash
# check_budget.sh - compares the lines of C with tests/budget: of each room, which is a folder of lib, or cmd, and of all.
#
#   check_budget.sh            fails if a room has more lines than its number, or none
#   check_budget.sh --lower    lowers the numbers to the lines that are there
#
# Who raises a number does so in a commit of its own, `budget: raise ...`, which says what the lines are for and why no mechanism
# that was there could carry it.
set -eu
cd "$(dirname "$0")/../.."

# Prints the lines of each room, and of all.
count() {
    find lib cmd -name '*.[ch]' -exec wc -l {} + | awk '$2 != "total" {
        split($2, part, "/")
        room = part[1] == "cmd" ? "cmd" : part[3] == "" ? "lib" : part[2]
        n[room] += $1; n["all"] += $1
    }
    END { for (room in n) print room, n[room] }' | LC_ALL=C sort
}

found=$(LC_ALL=C join -a 1 -o 0,1.2,2.2 <(count) <(LC_ALL=C sort tests/budget))
if [ "${1-}" = --lower ]; then
    awk '{ print $1, $3 == "" || $2 < $3 ? $2 : $3 }' <<<"$found" >tests/budget
    exit
fi
awk '$3 == "" || $2 > $3 { printf "budget: %s has %d lines, tests/budget %s\n", $1, $2, $3 == "" ? "no number" : $3; bad = 1 }
    END { exit bad }' <<<"$found"
