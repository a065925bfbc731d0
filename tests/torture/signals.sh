#!/usr/bin/env bash
# signals.sh - SIGINT, SIGTERM, SIGHUP and SIGUSR1 at random moments of a long dump: the process
# ends by the signal, or had done, and leaves whole files and no temporary ones. SIGKILL: whole files,
# and temporary ones by their name. 8 processes in one folder: each file is that of one of them.
. "$(dirname "$0")/frame.sh"

RANDOM=1 # the same moments again, as far as the machine is willing
ids=$(for i in {0..69}; do echo $((i * 7 % 31)); done)
everything_into "$scratch/seen"
making_into "$scratch/seen/model" 512

run() { # COMMAND...
    clear_folder "$scratch/seen"
    "$@" "$cli" "${command[@]}" >"$scratch/out" 2>"$scratch/err"
}

# A moment in a run, or a little later, in seconds.
moment() { printf '0.%06d' $((RANDOM * 32768 % 1000000 * duration / 900000)); }

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
    [ -z "$problem" ] && pass || fail "${command[0]}, $1: $problem"
}

# Ends $command N times by each signal that asks for it, N_KILL times by the one that does not.
interrupt_often() { # N N_KILL
    local start duration n_ended=0 n_wanted=1 i
    run || fail "does not run: $(cat "$scratch/err")"
    start=${EPOCHREALTIME/./}
    run
    duration=$((${EPOCHREALTIME/./} - start)) # microseconds
    rm -rf "$scratch/good"
    mv "$scratch/seen" "$scratch/good"
    for ((i = 0; i < $1; i++)); do
        interrupt INT 130
        interrupt TERM 143
        interrupt HUP 129
        interrupt USR1 138
    done
    for ((i = 0; i < $2; i++)); do
        interrupt KILL 137
    done
    # Some must have come in time, or this tests nothing; of many at least half.
    is_full && n_wanted=$(((4 * $1 + $2) / 2))
    [ $n_ended -ge $n_wanted ] && pass || fail "${command[0]}: only $n_ended runs were ended"
}

n=3 n_kill=6
is_full && n=100 n_kill=200
command=(run -m tests/fixtures/gpt2-long --ids "$ids" --sites '*' "${everything[@]}")
interrupt_often $n $n_kill
command=("${making[@]}")
interrupt_often $n $n_kill

# In a container the tool is process 1, which a signal that is raised again does not end. A namespace of processes
# alone: its own /proc, which the tool does not need, can be mounted only where / is a mount point, so in no chroot.
end_as_process_1() { # SIGNAL STATUS
    local answer child
    coproc env --default-signal unshare --pid --fork "$cli" batch --items-format lines -q # HUP may be ignored: nohup
    echo once >&"${COPROC[1]}"
    IFS= read -r -t 60 -u "${COPROC[0]}" answer
    child=$(cat "/proc/$COPROC_PID/task/$COPROC_PID/children")
    kill -s "$1" ${child:?} # unquoted, it ends with a space
    wait "$COPROC_PID"
    [ $? -eq "$2" ]
}
if unshare --pid --fork true 2>/dev/null; then
    expect 'process 1, TERM' end_as_process_1 TERM 143
    expect 'process 1, HUP' end_as_process_1 HUP 129
else
    skip 'process 1: no namespace of processes is permitted here (unshare --pid)'
fi

# Two texts, four processes each.
for who in a b; do
    mkdir "$scratch/$who"
    everything_into "$scratch/$who"
    "$cli" run -m models/tiny-gpt2 -p "The keys $who" --sites '*' "${everything[@]}"
done
for ((i = 0; i < n; i++)); do
    clear_folder "$scratch/seen"
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

# The same for a model: a folder that is not empty any more is refused, and files are still whole.
for who in 1 2; do
    making_into "$scratch/model-$who/model" 64 $who
    mkdir "$scratch/model-$who"
    "$cli" "${making[@]}" || fail "$who: no model is made"
done
for ((i = 0; i < n; i++)); do
    clear_folder "$scratch/seen"
    for who in 1 2 1 2 1 2 1 2; do
        making_into "$scratch/seen/model" 64 $who
        "$cli" "${making[@]}" 2>/dev/null &
    done
    wait
    problem=$(strange_files "$scratch/model-1" "$scratch/seen" "$scratch/model-2")
    [ -z "$problem" ] && pass || fail "8 models: $problem"
done
finish
