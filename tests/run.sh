#!/usr/bin/env bash
# run.sh - runs the named parts of the tests (unit, cli, readme) and adds up what they counted.
#
# Each part is a script run_PART.sh whose last line is `PART: N passed, N failed`. The line over all
# comes last. BUILD names the build folder; `make test` gives it.
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0 failed=0
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

for part; do
    "tests/run_$part.sh" | tee "$counts"
    status=${PIPESTATUS[0]}
    if [[ $(tail -n 1 "$counts") =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        echo "run_$part.sh ended without counting, status $status"
        failed=$((failed + 1))
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
