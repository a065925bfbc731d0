#!/usr/bin/env bash
# memory.sh - every command under `ulimit -v`, in steps from the least with which the program starts
# to more than it needs: the right result, or exit status 8 and one line, and no file that is half
# written. What other libraries ask for fails there, too: libxsmm, cJSON, PCRE2, zlib, threads, and
# the stack, which may not grow.
. "$(dirname "$0")/frame.sh"

within() { # KIB COMMAND...
    local kib=$1
    shift
    (ulimit -c 0 && ulimit -v "$kib" && exec timeout "$patience" "$@") </dev/null
}

# A sanitizer takes terabytes of address space.
within 1000000 "$cli" --version >"$scratch/out" 2>&1 ||
    { skip 'a build that does not start within 1 GB of address space' && finish; }

seen=$scratch/seen
everything_into "$seen"
making_into "$seen/model"

least=6000
while ! within $least "$cli" --version >"$scratch/out" 2>&1; do
    least=$((least + 50))
done

# Most commands have all they need before most; where threads are started, each takes an arena.
most=64000 n_step=2
is_more && n_step=5
is_full && n_step=200

printf '%s\n' 'The keys' 'Life is short' 'Once upon a time' 'The cat sat' >"$scratch/texts"

# Tells what is wrong with a run that ended with STATUS.
judge() { # STATUS
    [ "$1" -eq 0 ] || strange_end "$1" "$scratch/err"
    case $1 in
    0)
        cmp -s "$scratch/good.err" "$scratch/err" ||
            echo "status 0 with other messages: $(head -c 200 "$scratch/err")"
        strange_files "$scratch/good" "$seen" /nonexistent whole
        cmp -s "$scratch/good.out" "$scratch/out" || echo 'status 0 with other standard output'
        ;;
    # What a run of items goes on with stays there.
    *) is_empty "$seen" || strange_files "$scratch/good" "$seen" /nonexistent | grep -v '\.part$' ;;
    esac
}

n_run=0 n_done=0
sweep() { # COMMAND...
    local kib step status problem
    rm -rf "$seen" "$scratch/good"
    mkdir "$seen"
    within unlimited "$cli" "$@" >"$scratch/good.out" 2>"$scratch/good.err" ||
        fail "$* does not run: $(cat "$scratch/good.err")"
    rm -f "$seen"/*.run.json # it has times
    mv "$seen" "$scratch/good"
    for ((step = 0; step < n_step; step++)); do
        kib=$((least + step * (most - least) / n_step))
        clear_folder "$seen"
        within $kib "$cli" "$@" >"$scratch/out" 2>"$scratch/err"
        status=$?
        [ ! -e "$seen/all.jsonl.run.json" ] || rm "$seen/all.jsonl.run.json"
        problem=$(judge $status)
        n_run=$((n_run + 1))
        [ $status -ne 0 ] || n_done=$((n_done + 1))
        [ -z "$problem" ] && pass || fail "ulimit -v $kib: $*: $problem"
    done
}

small=(-m models/tiny-gpt2)
change=(--clean 'The keys near it' --corrupted 'The key near it' --target ' are' --foil ' is')

sweep help formats
sweep completion bash
sweep models
sweep tokenize 'The keys to the cabinet'
sweep inspect fable --check
sweep inspect "${small[@]}" --json
sweep "${making[@]}"
sweep "${attending[@]}" "${everything[@]}"
sweep run 'The keys to the cabinet'
sweep run "${small[@]}" -t 2 --load read --top 3 "${everything[@]}" -p 'The keys'
sweep run -t 2 --svg "$seen/heads.svg" --html "$seen/heads.html" 'The keys to the'
ATTN_CLI_GEMM=jit sweep run -t 2 --attention window:2 'The keys to the cabinet'
sweep run --compute bf16 --attention window:2 'The keys'
sweep generate -n 3 The
sweep generate -n 10 --temperature 1 --seed 3 -t 2 --json "$seen/all.json" The
sweep heads --effect --target ' are' 'The keys to the cabinet'
sweep heads -t 2 --items "$scratch/texts" --items-format lines --csv "$seen/heads.csv"
sweep ablate --target ' are' --foil ' is' 'The keys to the cabinet'
sweep ablate -t 2 --metric kl --items "$scratch/texts" --items-format lines --svg "$seen/ablate.svg"
sweep attribute --target ' are' 'The keys to the cabinet'
sweep diff 'The key was old' 'The keys was old'
sweep lens 'The keys to the cabinet'
sweep patch "${change[@]}"
sweep score 'The keys to the cabinet'
sweep batch -q --items-format lines "$scratch/texts"
sweep features --sae fable/sae --feature 275,17 --items-format lines --items "$scratch/texts"
sweep run -q -t 2 --items-format lines --items "$scratch/texts" --jsonl "$seen/all.jsonl" --sites pattern

# Libraries that draw are asked for; a machine may lack them.
if "$cli" run --png "$scratch/x.png" The >"$scratch/out" 2>&1; then
    most=560000
    sweep run --png "$seen/heads.png" 'The keys'
    sweep run --pdf "$seen/heads.pdf" 'The keys'
    sweep ablate --target ' are' --png "$seen/ablate.png" 'The keys'
fi

! is_full || echo "$n_run runs, of which $n_done had all that they needed"
finish
