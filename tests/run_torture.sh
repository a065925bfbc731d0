#!/usr/bin/env bash
# run_torture.sh - a hostile world: files, calls, devices and signals that fail on purpose.
#
#   run_torture.sh [PART...]    PART is a script of tests/torture without its .sh; all by default
#
# Takes seconds, as a part of `make test`; TORTURE=full (`make torture`) tries everything, which
# takes many minutes. What the machine lacks is skipped and named.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

output=$scratch/output

parts=("$@")
if [ $# -eq 0 ]; then
    for script in tests/torture/*.sh; do
        [ "$script" = tests/torture/frame.sh ] || parts+=("$(basename "$script" .sh)")
    done
fi

for part in "${parts[@]}"; do
    start=$SECONDS
    # A shell tells of every command of its that a signal ended; the parts tell themselves.
    "tests/torture/$part.sh" 2>/dev/null >"$output"
    cat "$output"
    [ "${TORTURE-}" != full ] || echo "$part took $((SECONDS - start)) s"
    if [[ $(tail -n 1 "$output") =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        echo "$part ended without counting"
        fail "tests/run_torture.sh $part"
    fi
done

finish torture
