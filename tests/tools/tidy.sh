#!/usr/bin/env bash
# tidy.sh FILE FLAG... - runs clang-tidy on one source and prints only what it found. ANALYZER=no leaves out clang's
# analyzer of paths.
set -u

checks=()
[ "${ANALYZER-}" != no ] || checks=('--checks=-clang-analyzer-*')
output=$(clang-tidy --quiet "${checks[@]}" "$1" -- "${@:2}" 2>&1)
status=$?
sed -E '/^([0-9]+ warnings?( and [0-9]+ errors?)? generated\.)?$/d' <<<"$output"
exit $status
