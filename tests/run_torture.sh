#!/usr/bin/env bash
# run_torture.sh - a hostile world: files, calls, devices and signals that fail on purpose.
#
#   run_torture.sh [PART...]    PART is a script of tests/torture without its .sh; by default those of
#                               TORTURE_PARTS, or all
#   run_torture.sh --list       their names, one a line
#
# The parts run side by side. It takes seconds, as a part of `make test`; CI tries more (TORTURE=more), and
# TORTURE=full (`make torture`) everything, which takes many minutes. What the machine lacks is skipped and named.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

# The part itself prints its failures; its last line counts them.
run_part() { # PART
    local output start=$SECONDS
    # A shell tells of every command of its that a signal ended; the parts tell themselves.
    output=$("tests/torture/$1.sh" 2>/dev/null)
    printf '%s\n' "$output"
    [ "${TORTURE-}" != full ] || echo "$1 took $((SECONDS - start)) s"
    if [[ ${output##*$'\n'} =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
    else
        echo "$1 ended without counting"
        fail "tests/run_torture.sh $1"
    fi
}

is_list=no
if [ "${1-}" = --list ]; then
    is_list=yes
    shift
fi
read -ra parts <<<"${*:-${TORTURE_PARTS-}}"
if [ ${#parts[@]} -eq 0 ]; then
    for script in tests/torture/*.sh; do
        [[ $script = */frame.sh || ( $script = */damage.sh && ${TORTURE-} != full ) ]] || parts+=("$(basename "$script" .sh)")
    done
fi

if [ $is_list = yes ]; then
    printf '%s\n' "${parts[@]}"
    exit
fi
side_by_side run_part "${parts[@]}"
finish torture
