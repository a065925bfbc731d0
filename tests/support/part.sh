# part.sh - what the scripts run_PART.sh share; each begins with `. tests/support/part.sh` in the root
# of the repository and ends with `finish PART`.
#
# A part counts its tests with pass and fail, and has an empty folder, $scratch. Its last line is
# `PART: N passed, N failed`.

build=${BUILD:-build/release}
export ATTN_CLI_CACHE=off # what the user keeps
passed=0 failed=0
# In memory where there is room: most of what tests write is small and short-lived.
[ -n "${TMPDIR-}" ] || { [ -w /dev/shm ] && export TMPDIR=/dev/shm; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A run that has others beside it has looked before.
for archive in tests/fixtures/*.tar tests/golden/*.tar; do
    [ "${ATTN_TEST_JOBS-}" ] || [ tests/fixtures/.unpacked -nt "$archive" ] ||
        { tests/tools/fixtures.sh unpack && break; }
done

# Other builds than the usual one have to be named to run a test again.
again=
[ "$build" = build/release ] || again="BUILD=$build "

pass() { passed=$((passed + ${1-1})); }

# Counts a failure. LINE, pasted into a shell, runs just that test again; run.sh lists these lines.
fail() { # LINE
    failed=$((failed + 1))
    echo "FAILED $again$1"
}

finish() { # PART
    echo "$1: $passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

# The files whose `console` blocks are tests.
list_readmes() {
    find cmd/manual -name '*.md' | LC_ALL=C sort
    printf '%s\n' README.md models/README.md models/interpreter/README.md
}

# Calls JOB with each ITEM, as many jobs beside each other as ATTN_TEST_JOBS says, or as there are cores. What a job prints is
# shown in the order of the items; what it counts with pass and fail is added to the counts here.
side_by_side() { # JOB ITEM...
    local job=$1 item n_core started=0 n_running=0 shown=0
    shift
    local items=("$@")
    n_core=${ATTN_TEST_JOBS:-$(nproc)}
    if [ "$n_core" -eq 1 ] || [ $# -eq 1 ]; then
        for item; do "$job" "$item" 2>&1 </dev/null; done
        return
    fi
    mkdir "$scratch/jobs"
    while [ $shown -lt $# ]; do
        if [ $started -lt $# ] && [ $n_running -lt "$n_core" ]; then
            run_job "$job" "${items[started]}" "$scratch/jobs/$started" &
            started=$((started + 1)) n_running=$((n_running + 1))
            continue
        fi
        wait -n
        n_running=$((n_running - 1))
        while [ $shown -lt $started ] && { [ -s "$scratch/jobs/$shown.counts" ] || [ $n_running -eq 0 ]; }; do
            show_job "${items[shown]}" "$scratch/jobs/$shown"
            shown=$((shown + 1))
        done
    done
    rm -r "$scratch/jobs"
}

# In a process of its own, which has counts of its own.
run_job() { # JOB ITEM RESULT
    passed=0 failed=0
    "$1" "$2" >"$3.output" 2>&1 </dev/null
    echo "$passed $failed" >"$3.counts"
}

show_job() { # ITEM RESULT
    local n_passed n_failed
    [ ! -s "$2.output" ] || cat "$2.output"
    if [ -s "$2.counts" ]; then
        read -r n_passed n_failed <"$2.counts"
        passed=$((passed + n_passed)) failed=$((failed + n_failed))
    else
        fail "# $1 was killed before its tests were counted"
    fi
}
