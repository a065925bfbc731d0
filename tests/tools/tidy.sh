#!/usr/bin/env bash
# tidy.sh FILE FLAG... - runs clang-tidy on one source and prints only what it found.
set -u

output=$(clang-tidy --quiet "$1" -- "${@:2}" 2>&1)
status=$?
sed -E '/^([0-9]+ warnings?( and [0-9]+ errors?)? generated\.)?$/d' <<<"$output"
exit $status
