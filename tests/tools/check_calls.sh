#!/usr/bin/env bash
# check_calls.sh - calls every function and callback of the Python binding, and compares arguments and results with what C gets
# and gives (check_calls.py says how). Nothing of the library runs but its declarations.
#
#   check_calls.sh [PYTHON...]     compiles by CC, and PYTHON is a command that starts a Python of the processor that CC compiles for
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- python3

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
tests/tools/check_calls.py source >"$scratch/echo.c"
# An argument that is an array is a pointer, and its size is meant.
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-sizeof-array-argument -O1 -shared -fPIC -Ilib @lib/folders \
    "$scratch/echo.c" -o "$scratch/echo.so"
"$@" tests/tools/check_calls.py call "$scratch/echo.so" >"$scratch/log" && tail -n 1 "$scratch/log" && exit
printf 'check-calls: the last function that was called: %s\n' "$(grep '^attn_' "$scratch/log" | grep -v : | tail -n 1)"
grep ': ' "$scratch/log"
exit 1
