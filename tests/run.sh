#!/usr/bin/env bash
# run.sh - runs the named parts of the tests (unit, cli, readme) and adds up what they counted.
#
# Each part is a script run_PART.sh: it prints `FAILED LINE` for each test that failed, where LINE runs
# just that test again, `skipped WHAT: WHY` for what cannot be tried here, and `PART: N passed, N failed`
# as its last line. What was skipped and what failed is listed again at the end; the line over all
# comes last. BUILD names the build folder; `make test` gives it.
set -u
cd "$(dirname "$0")/.." || exit 1

# bash opens <(...) as a file of /dev/fd, which leads there.
[ -d /dev/fd/ ] || { echo 'the tests need /proc, which is not mounted here' >&2 && exit 1; }

passed=0 failed=0
output=$(mktemp) failures=$(mktemp) skipped=$(mktemp)
trap 'rm -f "$output" "$failures" "$skipped"' EXIT

for part; do
    "tests/run_$part.sh" | tee "$output"
    status=${PIPESTATUS[0]}
    sed -n 's/^FAILED //p' "$output" >>"$failures"
    sed -n 's/^skipped //p' "$output" >>"$skipped"
    if [[ $(tail -n 1 "$output") =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        echo "run_$part.sh ended without counting, status $status"
        echo "tests/run_$part.sh" >>"$failures"
        failed=$((failed + 1))
    fi
done

if [ -s "$skipped" ]; then
    printf '\nWhat was skipped, and why:\n'
    awk '!seen[$0]++ { print "  " $0 }' "$skipped"
fi
if [ -s "$failures" ]; then
    printf '\nWhat failed, each with the line that runs it again:\n'
    sed 's/^/  /' "$failures"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
