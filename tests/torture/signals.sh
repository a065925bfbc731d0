#!/usr/bin/env bash
# signals.sh - SIGINT, SIGTERM and SIGHUP at random moments of a long dump: the process ends by the
# signal, or had done, and leaves whole files and no temporary ones. SIGKILL: whole files, and
# temporary ones by their name. 8 processes in one folder: each file is that of one of them.
. "$(dirname "$0")/frame.sh"

RANDOM=1 # the same moments again, as far as the machine is willing
ids=$(for i in {0..69}; do echo $((i * 7 % 31)); done)
everything_into "$scratch/seen"

run() { # COMMAND...
    rm -rf "$scratch/seen" && mkdir "$scratch/seen"
    "$@" "$cli" run -m tests/fixtures/gpt2-long --ids "$ids" --sites '*' "${everything[@]}" \
        >"$scratch/out" 2>"$scratch/err"
}

# A moment in a run, or a little later, in seconds.
moment() { printf '0.%06d' $((RANDOM * 32768 % 1000000 * duration / 900000)); }

run || fail "does not run: $(cat "$scratch/err")"
start=${EPOCHREALTIME/./}
run
duration=$((${EPOCHREALTIME/./} - start)) # microseconds
mv "$scratch/seen" "$scratch/good"
n_ended=0

interrupt() { # SIGNAL STATUS
    local problem= status
    run timeout --preserve-status -s "$1" "$(moment)"
    status=$?
    case $status in
    0) duration=$((duration * 9 / 10 + 1)) ;; # too late: the run is faster than it was
    "$2") n_ended=$((n_ended + 1)) ;;
    *) problem="status $status" ;;
    esac
    [ ! -s "$scratch/err" ] || problem+=" messages: $(cat "$scratch/err")"
    problem+=$(strange_files "$scratch/good" "$scratch/seen" /nonexistent |
        { [ "$1" = KILL ] && grep -v ': \.attn-......\.tmp$' || cat; })
    [ -z "$problem" ] && pass || fail "$1: $problem"
}

n=3 n_kill=6
is_full && n=100 n_kill=200
for ((i = 0; i < n; i++)); do
    interrupt INT 130
    interrupt TERM 143
    interrupt HUP 129
done
for ((i = 0; i < n_kill; i++)); do
    interrupt KILL 137
done
# Some must have come in time, or this tests nothing; of many at least half.
n_wanted=1
is_full && n_wanted=$(((3 * n + n_kill) / 2))
[ $n_ended -ge $n_wanted ] && pass || fail "only $n_ended runs were ended"

# Two texts, four processes each.
for who in a b; do
    mkdir "$scratch/$who"
    everything_into "$scratch/$who"
    "$cli" run -m models/tiny-gpt2 -p "The keys $who" --sites '*' "${everything[@]}"
done
for ((i = 0; i < n; i++)); do
    rm -rf "$scratch/seen" && mkdir "$scratch/seen"
    everything_into "$scratch/seen"
    for who in a b a b a b a b; do
        "$cli" run -m models/tiny-gpt2 -p "The keys $who" --sites '*' "${everything[@]}" ||
            touch "$scratch/seen/status-$?" &
    done
    wait
    problem=$(strange_files "$scratch/a" "$scratch/seen" "$scratch/b")
    [ "$(cd "$scratch/seen" && find . | sort)" = "$(cd "$scratch/a" && find . | sort)" ] ||
        problem+=" files are missing"
    [ -z "$problem" ] && pass || fail "8 processes: $problem"
done
finish
