#!/usr/bin/env bash
# coverage.sh - what the tests executed: percent and number of lines of each source, least first.
#
# Reads what a run of MODE=coverage left in BUILD. Of a source compiled more than once (the vector
# code), the object that ran most counts.
set -eu
cd "$(dirname "$0")/../.."

find "${BUILD:-build/coverage}"/lib "${BUILD:-build/coverage}"/cmd -name '*.gcda' -exec gcov -n {} + |
    sed -nE "/^File '(lib|cmd)\//{N;s/^File '(.*)'\nLines executed:([0-9.]+)% of ([0-9]+)$/\2 \3 \1/p}" |
    sort -k3,3 -k1,1rn | awk '!seen[$3]++' | sort -n |
    awk '{
        printf "%6.1f%% of %4d  %s\n", $1, $2, $3
        lines += $2; executed += $1 * $2 / 100
    }
    END { printf "%6.1f%% of %4d  all\n", lines ? 100 * executed / lines : 0, lines }'
