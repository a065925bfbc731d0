#!/usr/bin/env bash
# system_calls.sh - every system call of a run fails in turn (strace -e inject), in each way of
# writing, with files of earlier runs in place and without; so does every call of inspect, tokenize,
# attend and init.
#
# The run ends with a documented status and one line, or as if nothing had happened; each file is
# the old one, the new one, or absent; nothing is left under a temporary name.
. "$(dirname "$0")/frame.sh"

has strace strace 'system calls' || finish
strace -o /dev/null true 2>/dev/null || { skip 'tracing is not permitted here' && finish; }

# A thread that was woken by a call that did not take place sleeps for ever, and the ends of
# processes and of memory cannot fail.
untouched=' execve exit exit_group futex munmap rt_sigreturn arch_prctl set_tid_address \
set_robust_list rseq gettid getpid wait4 '

if is_full; then
    errnos=(EIO ENOSPC EMFILE EINTR)
    formats=(text "${outputs[@]}" everything)
    models=("-m life-is-short" "-m models/tiny-gpt2 -t 2" "-m models/tiny-gpt2 --load read -t 1")
    states=(fresh old)
else
    errnos=(EIO)
    formats=(npz)
    ! is_more || formats=(everything)
    models=("-m models/life-is-short -t 2")
    states=(old)
fi

# Runs with FORMAT in $scratch/seen, or another command of that name, under COMMAND.
run() { # FORMAT MODEL_OPTIONS [COMMAND...]
    local format=$1 arguments=() options everything making
    read -ra arguments <<<"$2"
    shift 2
    case $format in
    inspect) arguments=(inspect models/tiny-gpt2 --check) ;;
    tokenize) arguments=(tokenize -m models/tiny-gpt2 -f "$scratch/text") ;;
    attend)
        everything_into "$scratch/seen"
        arguments=("${attending[@]}" "${everything[@]}")
        ;;
    init)
        making_into "$scratch/seen/model"
        arguments=("${making[@]}")
        ;;
    everything)
        everything_into "$scratch/seen"
        arguments=(run "${arguments[@]}" "${everything[@]}" -f "$scratch/text")
        ;;
    *)
        into "$format" "$scratch/seen"
        arguments=(run "${arguments[@]}" "${options[@]}" -f "$scratch/text")
        ;;
    esac
    timeout "$patience" "$@" "$cli" "${arguments[@]}" >"$scratch/out" 2>"$scratch/err"
}

# Prints NAME FIRST LAST for each call of a run: those before main, whose first call is fcntl, are
# the dynamic linker's.
count_calls() { # FORMAT MODEL_OPTIONS
    prepare fresh
    run "$1" "$2" strace -f -qq -o "$scratch/trace"
    awk -v untouched="$untouched" '
        / fcntl\(0, F_GETFD/ { in_main = 1 }
        match($2, /^[a-z0-9_]+\(/) {
            call = substr($2, 1, RLENGTH - 1)
            n[call]++
            if (!in_main)
                before[call]++
        }
        END {
            for (call in n)
                if (n[call] > before[call] && index(untouched, " " call " ") == 0)
                    print call, before[call] + 1, n[call]
        }' "$scratch/trace" | sort
}

prepare() { # STATE
    clear_folder "$scratch/seen"
    [ "$1" != old ] || is_empty "$scratch/old" || cp -r "$scratch/old"/* "$scratch/seen"
}

judge() { # STATUS CALL ERRNO
    local old=$scratch/old whole=
    [ "$1" -ne 0 ] || whole=whole
    [ "$state" = old ] || old=/nonexistent
    strange_end "$1" "$scratch/err"
    if [ "$2" = unlink ]; then
        strange_files "$scratch/good" "$scratch/seen" "$old" $whole | grep -v '\.attn-......\.tmp$'
    else
        strange_files "$scratch/good" "$scratch/seen" "$old" $whole
    fi
    if [ "$1" -eq 0 ] && ! cmp -s "$scratch/good.out" "$scratch/out"; then
        echo "status 0 with other standard output"
    fi
    case $1,$2,$3 in
    0,write,EIO | 0,pwrite64,EIO | 0,rename,EIO) echo 'nobody looked' ;;
    esac
}

# Whether call N, of FIRST to LAST, is tried: of calls that do not write files one in sixteen when not all.
is_tried() { # CALL N FIRST LAST
    is_full || [ $((($2 - $3) % 16)) -eq 0 ] || [ "$2" -eq "$4" ] || [[ $1 =~ ^(close|write|pwrite64|rename|unlink|fsync|ftruncate)$ ]]
}

# Makes call N fail; leaves what is wrong then in $problem.
fail_call() { # FORMAT MODEL_OPTIONS CALL N ERRNO
    local fault=error=$5 status
    [ "$3" != brk ] || fault=retval=0 # its way of saying no
    prepare "$state"
    run "$1" "$2" strace -f -qq --seccomp-bpf -o /dev/null -e "trace=$3" -e "inject=$3:$fault:when=$4"
    status=$?
    problem=$(judge $status "$3" "$5")
    if [ "$3,$5,$status" = close,EIO,5 ]; then
        n_close=$((n_close + 1))
    fi
}

torture() { # FORMAT MODEL_OPTIONS
    local calls line call first last n errno n_file n_close=0
    rm -rf "$scratch/good" "$scratch/old"
    prepare fresh
    run "$1" "$2" || { fail "$1 $2 does not run: $(cat "$scratch/err")" && return; }
    mv "$scratch/seen" "$scratch/good"
    cp "$scratch/out" "$scratch/good.out"
    cp -r "$scratch/good" "$scratch/old"
    find "$scratch/old" -name run.json -delete # of files that no run is known to have written
    find "$scratch/old" -type f -exec sh -c 'for f; do echo "$f" >"$f"; done' sh {} +

    count_calls "$1" "$2" >"$scratch/calls"
    mapfile -t calls <"$scratch/calls"
    for line in "${calls[@]}"; do
        read -r call first last <<<"$line"
        for errno in "${errnos[@]}"; do
            for state in "${states[@]}"; do
                for ((n = first; n <= last; n++)); do
                    is_tried "$call" "$n" "$first" "$last" || continue
                    fail_call "$1" "$2" "$call" "$n" "$errno" 2>/dev/null
                    if [ -z "$problem" ]; then
                        pass
                    else
                        fail "$1 $2, $state files, $call $n of $last gives $errno: $problem"
                    fi
                done
            done
        done
    done
    # Files of weights may be closed in vain, those that are written may not.
    n_file=$(find "$scratch/good" -type f | wc -l)
    [ $n_close -eq $((n_file * ${#states[@]})) ] && pass ||
        fail "$1 $2: $n_close of $n_file files were missed when they could not be closed"
}

# A signal that a program handles, a timer's say, does not end the reading of a prompt.
read_on() { # CALL
    run tokenize '' && mv "$scratch/out" "$scratch/good.out"
    run tokenize '' strace -qq -o /dev/null -P "$scratch/text" -e "inject=$1:error=EINTR:when=1..3"
    [ $? -eq 0 ] && cmp -s "$scratch/good.out" "$scratch/out" && pass ||
        fail "a prompt, $1 gives EINTR: $(cat "$scratch/err")"
}

printf 'Life is short, eat dessert first\n' >"$scratch/text"
read_on openat
read_on read
commands=(inspect tokenize)
is_full && commands+=(attend)
for command in "${commands[@]}"; do
    torture "$command" ''
done
wanted=("${states[@]}")
states=(fresh) # it refuses a folder that holds something
torture init ''
states=("${wanted[@]}")
for model in "${models[@]}"; do
    for format in "${formats[@]}"; do
        torture "$format" "$model"
    done
done
finish
