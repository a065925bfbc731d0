#!/usr/bin/env bash
# adversary.sh - inputs made by programs that know the grammar of each format (tests/adversary), read
# by the library and, some of them, by the tool.
#
#   adversary.sh [FORMAT [CASE]]     all formats by default; one case is also kept as files
#
# Nearly half of the cases are valid and must be read as they were written; the others have one defect
# and must be refused, or had their bytes changed. A case is a number: it is the same everywhere.
. "$(dirname "$0")/frame.sh"

program=$build/tests/adversary/adversary
rerun=
[ "${BUILD:-build/release}" = build/release ] || rerun="BUILD=$BUILD "
n_case=1000 step=100
is_full && n_case=100000 step=250

# Keeps the files of a case that failed; the line runs it again.
fail_case() { # FORMAT CASE WHAT
    local folder=$build/adversary/$1-$2
    mkdir -p "$folder"
    "$program" save "$1" "$2" "$folder" >"$folder/about"
    failed=$((failed + 1))
    echo "FAILED ${rerun}tests/torture/adversary.sh $1 $2 # $3; its files are in ${folder#"$root"/}"
}

# Runs the program and counts; its own line of figures is shown when all cases are tried.
judge() { # FORMAT ARGUMENT...
    local format=$1 word name number what n_failed=0
    "$program" "${@:2}" >"$scratch/out" 2>"$scratch/err"
    local status=$?
    while read -r word name number what; do
        if [ "$word" = FAILED ]; then
            n_failed=$((n_failed + 1))
            fail_case "$name" "$number" "$what $(tail -n 1 "$scratch/err")"
        elif is_full || [ -n "$only" ]; then
            echo "$word $name $number $what"
        fi
    done <"$scratch/out"
    if [ $n_failed -eq 0 ] && [ $status -eq 0 ]; then
        pass
    elif [ $n_failed -eq 0 ]; then
        fail "$format: status $status $(tail -n 1 "$scratch/err")"
    fi
}

only=${2-}
if [ -n "$only" ]; then
    mkdir -p "$build/adversary/$1-$only"
    "$program" save "$1" "$only" "$build/adversary/$1-$only" || exit
    judge "$1" try "$1" "$only" 1
    judge "$1" tool "$1" "$only" 1 1
    finish
fi

formats=("$@")
[ $# -gt 0 ] || mapfile -t formats <<<"$("$program" list)"
for format in "${formats[@]}"; do
    judge "$format" try "$format" 0 $n_case
    judge "$format" tool "$format" 0 $n_case $step
done
finish
