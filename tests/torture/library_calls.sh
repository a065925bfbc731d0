#!/usr/bin/env bash
# library_calls.sh - with failing_calls.c in LD_PRELOAD: each allocation of run, attend, init, heads and features fails,
# those of cJSON and libxsmm too; no thread can be started; reads and writes are short; no memory may
# be executable; a log, by a fast clock. Exit status 8, or the same result by another way; whole files only.
. "$(dirname "$0")/frame.sh"

library=$build/tests/torture/failing_calls.so
[ -e "$library" ] || { skip "no $library (make builds it)" && finish; }
# A space in LD_PRELOAD separates names.
ln -s "$library" "$scratch/failing_calls.so"
library=$scratch/failing_calls.so

everything_into "$scratch/seen"
making_into "$scratch/seen/model"

# Runs $command under FAIL=$1; leaves the counts in $scratch/count.
run() { # FAIL
    clear_folder "$scratch/seen"
    timeout "$patience" env "FAIL=$1" "FAIL_COUNT=$scratch/count" "LD_PRELOAD=$library" \
        "$cli" "${command[@]}" >"$scratch/out" 2>"$scratch/err"
}

good() {
    run 'memory -1' || fail "${command[*]:0:3}: does not run: $(cat "$scratch/err")"
    rm -rf "$scratch/good"
    mv "$scratch/seen" "$scratch/good"
}

judge() { # STATUS
    [ "$1" -eq 0 ] || [ "$1" -eq 8 ] || echo "status $1"
    strange_end "$1" "$scratch/err"
    strange_files "$scratch/good" "$scratch/seen" /nonexistent "$([ "$1" -ne 0 ] || echo whole)"
}

try() { # FAIL
    local problem
    run "$1"
    problem=$(judge $?)
    [ -z "$problem" ] && pass || fail "${command[*]:0:3}: $1: $problem"
}

# The result must be the same, not only nothing worse.
expect_same() { # FAIL
    local problem status
    run "$1"
    status=$?
    problem=$(judge $status)
    [ $status -eq 0 ] && [ -z "$problem" ] && pass || fail "${command[*]:0:3}: $1: status $status $problem"
}

export ATTN_CLI_GEMM=jit
ids=$(for i in {0..69}; do echo -n "$((i * 7 % 31)) "; done)

# Every STEPth allocation, and all from each of N_FROM on.
fail_allocations() { # AT_LEAST STEP N_FROM
    local n_allocation n
    good
    read -r n_allocation _ <"$scratch/count"
    [ "$n_allocation" -gt "$1" ] && pass || fail "only $n_allocation allocations"
    for ((n = 0; n < n_allocation; n += $2)); do
        try "memory $n"
    done
    for ((n = 0; n < $3; n++)); do
        try "memory $((n * n_allocation / $3))+"
    done
    for fault in short executable; do
        expect_same $fault
    done
}

steps=(37 10)
is_full && steps=(1 50)
command=(run -m models/tiny-gpt2 --top 3 -t 2 -p 'The keys are' "${everything[@]}")
fail_allocations 500 "${steps[@]}"
for form in nanogpt nanogpt-old-stream; do
    checkpoint=tests/fixtures/torch-$form
    command=(run -q -m "$checkpoint/ckpt.pt" --vocab "$checkpoint/meta.pkl" -t 1 -p 'abc! Be' "${everything[@]}")
    fail_allocations 400 "${steps[@]}"
done
command=("${attending[@]}" "${everything[@]}")
fail_allocations 50 "${steps[@]}"
command=("${making[@]}")
fail_allocations 50 "${steps[@]}"
printf '%s\n' 'The keys are here' 'The key was old' >"$scratch/lines.txt"
command=(heads -m models/tiny-gpt2 -t 1 --items "$scratch/lines.txt" --items-format lines --html "$scratch/seen/atlas.html")
fail_allocations 500 "${steps[@]}"

command=(features -q --sae fable/sae --feature 275,17 -t 1 --items "$scratch/lines.txt" --items-format lines)
fail_allocations 300 7 10

command=(run -m tests/fixtures/gpt2-long --sites '*' -t 8 --ids "$ids" "${everything[@]}")
good # it has work enough for threads
read -r _ n_thread <"$scratch/count"
[ "$n_thread" -gt 0 ] && pass || fail 'no thread is started'
for fault in short executable 'threads 0' 'threads 0+' 'threads 3+'; do
    expect_same "$fault"
done

# A log gets the time that is left after three seconds, and then once a minute.
for n in {1..60}; do echo "{\"text\": \"The keys to the door $n\", \"target\": \" are\"}"; done >"$scratch/keys.jsonl"
command=(heads -m models/fable -t 1 --items "$scratch/keys.jsonl" --measures direct,ablated)
run 'clock 1000'
[ "$(grep -cE 'note: [0-9]+ of 60 items took .*, all take about ' "$scratch/err")" -ge 3 ] && pass ||
    fail "a log: $(cat "$scratch/err")"
finish
