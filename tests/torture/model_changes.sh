#!/usr/bin/env bash
# model_changes.sh - the file of weights is truncated, overwritten or replaced while a run is at each
# of its system calls (strace holds it there): never a crash, one line when the run ends badly, and a
# replaced file keeps the old data. Mapping that is refused falls back to reading, with the same
# result. The weights are safetensors, then a checkpoint of PyTorch in the zip form, which is mapped, too.
. "$(dirname "$0")/frame.sh"

everything_into "$scratch/seen"

renew() {
    rm -rf "$scratch/model" "$scratch/seen"
    cp -r "$from" "$scratch/model"
    mkdir "$scratch/seen"
}

run() { # COMMAND...
    timeout "$patience" "$@" "$cli" run -q "${model[@]}" -p 'abc' -t 2 "${everything[@]}" >"$scratch/out" 2>"$scratch/err"
}

cut_off() { : >"$weights"; }
cut_short() { truncate -s 5000 "$weights"; }
overwrite() { dd if=/dev/urandom of="$weights" bs=4096 count=1000 conv=notrunc status=none; }
replace() {
    head -c 10000 /dev/urandom >"$weights.new"
    mv "$weights.new" "$weights"
}

# How the run ended, when its files may only be the good ones.
judge() { # STATUS
    local whole=
    [ "$1" -ne 0 ] || whole=whole
    strange_end "$1" "$scratch/err"
    strange_files "$scratch/good" "$scratch/seen" /nonexistent $whole
}

for from in models/tiny-gpt2 tests/fixtures/torch-nanogpt; do
    case $from in
    models/*) weights=$scratch/model/model.safetensors model=(-m "$scratch/model") ;;
    *) weights=$scratch/model/ckpt.pt model=(-m "$weights" --vocab "$scratch/model/meta.pkl") ;;
    esac

    renew
    run || fail "does not run: $(cat "$scratch/err")"
    rm -rf "$scratch/good"
    mv "$scratch/seen" "$scratch/good"

    # It is open and waits for its text when the file is replaced.
    renew
    rm -f "$scratch/text"
    mkfifo "$scratch/text"
    "$cli" run -q "${model[@]}" -f "$scratch/text" "${everything[@]}" 2>"$scratch/err" &
    exec 3>"$scratch/text"
    replace
    printf abc >&3
    exec 3>&-
    wait $!
    status=$?
    problem=$(judge $status)
    [ $status -eq 0 ] && [ -z "$problem" ] && pass || fail "$from: replaced: status $status $problem"

    has strace strace 'changes at each system call' || finish
    strace -o /dev/null true 2>/dev/null || { skip 'tracing is not permitted here' && finish; }

    # Of these calls only those that concern the file of weights.
    renew
    run strace -f -qq -o /dev/null -P "$weights" -e trace=mmap -e inject=mmap:error=ENODEV
    status=$?
    problem=$(judge $status)
    [ $status -eq 0 ] && [ -z "$problem" ] && pass || fail "$from: mapping refused: status $status $problem"

    # From the opening of the weights on: each call is held for a while. The first are where the
    # directory of the file is read.
    renew
    run strace -qq -o "$scratch/trace"
    awk -v weights="$weights" '
        match($1, /^[a-z0-9_]+\(/) {
            call = substr($1, 1, RLENGTH - 1)
            n[call]++
            if (index($0, weights))
                is_open = 1
            if (is_open && call !~ /^(exit|futex|execve)/)
                print call, n[call]
        }' "$scratch/trace" >"$scratch/held"
    mapfile -t held <"$scratch/held"
    [ ${#held[@]} -gt 10 ] || fail "$from: only ${#held[@]} calls are seen"
    is_full || held=("${held[@]:0:6}")

    for change in cut_off cut_short overwrite; do
        for line in "${held[@]}"; do
            read -r call n <<<"$line"
            renew
            (
                sleep 0.04
                $change
            ) &
            run strace -qq -o /dev/null -e "inject=$call:delay_exit=80000:when=$n"
            status=$?
            wait $!
            if [ $change = overwrite ]; then # what is computed from noise is noise
                problem=$(strange_end $status "$scratch/err")
            else
                problem=$(judge $status)
            fi
            [ -z "$problem" ] && pass || fail "$from: $change after $call $n: $problem"
        done
    done
done
finish
