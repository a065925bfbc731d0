#!/usr/bin/env bash
# damage.sh - the weights of the tiny model cut at every length; `make test` has tried one in 97 of
# those behind the header by then.
. "$(dirname "$0")/frame.sh"

is_full || finish
CK_TIMEOUT_MULTIPLIER=100 "$build/tests/unit/test_model_damaged" >"$scratch/out" 2>&1
status=$?
[ $status -eq 0 ] && pass || fail "status $status: $(tail -n 3 "$scratch/out")"
finish
