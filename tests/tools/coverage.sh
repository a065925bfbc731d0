#!/usr/bin/env bash
# coverage.sh - what the tests executed of each source: percent and number of its lines, then of its branches,
# fewest lines first.
#
# Reads what a run of MODE=coverage left in BUILD. Of a source compiled more than once (the vector code), the object
# that ran most counts. With files as arguments, prints their branches that never went one way.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build/coverage}

data_of_all() { find "$build"/lib "$build"/cmd -name '*.gcda'; }

if [ $# -gt 0 ]; then
    for source; do
        gcov -b -c -t "$build/${source%.c}.gcda" |
            awk -v source="$source" -F: '
                / -: +0:Source:/ { is_source = $4 == source }
                is_source && /^branch .*(taken 0|never executed)/ { missed = missed " " $0 }
                /^ *[0-9#=-]+\*?: *[0-9]+:/ { if (missed) print source ":" line missed; missed = ""; sub(/^[^:]*: */, ""); line = $0 }'
    done
    exit
fi

data_of_all | xargs gcov -n -b |
    awk '
        /^File / { file = $0; gsub(/^File .|.$/, "", file); lines[file] += 0 }
        /^Lines executed:/ { split($0, part, /[:% ]+/); percent = part[3]; n = part[5]
            is_best = file ~ /^(lib|cmd)\// && (!(file in best) || percent > best[file])
            if (is_best) { best[file] = percent; n_line[file] = n; branch[file] = ""; n_branch[file] = 0 } }
        /^Taken at least once:/ && is_best { split($0, part, /[:% ]+/)
            branch[file] = part[5]; n_branch[file] = part[7] }
        END {
            for (file in best)
                printf "%6.1f%% of %4d  %6.1f%% of %4d  %s\n", best[file], n_line[file],
                    n_branch[file] ? branch[file] : 100, n_branch[file], file
        }' | sort -n |
    awk '{
        print
        lines += $3; executed += $1 * $3 / 100; branches += $6; taken += $4 * $6 / 100
    }
    END {
        printf "%6.1f%% of %4d  %6.1f%% of %4d  all\n", lines ? 100 * executed / lines : 0, lines,
            branches ? 100 * taken / branches : 0, branches
    }'
