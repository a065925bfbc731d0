#!/usr/bin/env bash
# unwritten_memory.sh - no output holds memory that nothing was written to: with failing_calls.c in
# LD_PRELOAD each command runs where new memory is filled with 0, and again where it is filled with 255.
# All files and what is printed are the same, byte for byte; each counts as one test.
. "$(dirname "$0")/frame.sh"

library=$build/tests/torture/failing_calls.so
[ -e "$library" ] || { skip "no $library (make builds it)" && finish; }
fixtures=tests/fixtures seen=$scratch/seen

# What draws may not be installed.
pictures=(svg html png pdf)
for i in "${!pictures[@]}"; do
    "$cli" run --heads 0.0 --sites pattern --"${pictures[i]}" "$scratch/picture" The 2>/dev/null && continue
    skip "--${pictures[i]} draws nothing here"
    unset "pictures[i]"
done

# Sets the array `drawn` to options that write NAME in each of FORMATS that can be drawn.
draw_into() { # NAME FORMAT...
    local name=$1 format
    shift
    drawn=()
    for format; do
        [[ " ${pictures[*]} " != *" $format "* ]] || drawn+=("--$format" "$seen/$name.$format")
    done
}

# Every way of writing tensors; of patterns alone; of tables.
tensors=(--csv "$seen/csv" --npy "$seen/npy" --npz "$seen/all.npz" --safetensors "$seen/all.safetensors"
    --json "$seen/all.json")
draw_into all svg html
patterns=(--sites pattern --tidy "$seen/all.tidy" "${drawn[@]}")
draw_into table svg html
tables=(--csv "$seen/table.csv" --json "$seen/table.json" --jsonl "$seen/table.jsonl" "${drawn[@]}")

# Runs a command both ways; it writes into $seen. Each file and what it prints count as one. The samples are one command
# of five, and three, so that each of two or three that alternate has its turn.
n_command=0 sampled=[0]
! is_more || sampled=[024]
same() { # ARGUMENT...
    local byte different found
    # shellcheck disable=SC2053 # a pattern
    is_full || [[ $((n_command++ % 5)) == $sampled ]] || return
    clear_folder "$scratch/filled"
    for byte in 0 255; do
        mkdir "$seen"
        FAIL="fill $byte" LD_PRELOAD=$library timeout "$patience" "$cli" "$@" >"$seen/stdout" 2>"$seen/stderr" \
            </dev/null || fail "$*: $(head -c 200 "$seen/stderr" | tr '\n' ' ')"
        [ ! -e "$seen/out.jsonl.run.json" ] || # when it was, and its digest, are not compared
            sed -i -E '/^"(started|seconds|manifest_sha256)"/d' "$seen/out.jsonl.run.json"
        mv "$seen" "$scratch/filled/$byte"
    done
    different=$(diff -rq "$scratch"/filled/{0,255} 2>&1)
    [ -z "$different" ] || fail "$*: depends on what memory held: ${different//$'\n'/ }"
    found=$(find "$scratch/filled/255" -type f -printf .)
    passed=$((passed + ${#found}))
}

# The same for all that a run may write, of SITES.
same_run() { # SITES ARGUMENT...
    local sites=$1
    shift
    same "$@" --sites "$sites" "${tensors[@]}"
    same "$@" "${patterns[@]}"
    same "$@" --heatmap
    ! is_full || same "$@" --sites "$sites"
}

text='The keys to the cabinet are on the table, it said. The keys are old and it was'
ids=1,5,3,0,6,2,4
all='*,rollout,weighted_pattern,value_zeroing'

# What commands read: heads of arrays, one for each position of the text; lines.
"$cli" run -q --sites '*' --layers 0 --npy "$scratch/arrays" -p "$text" || fail 'no arrays'
arrays=$scratch/arrays/blocks.0
q=(--q "$arrays.attn.hook_q.npy" --k "$arrays.attn.hook_k.npy" --v "$arrays.attn.hook_v.npy")
printf '%s\n' "$text" 'The cat' 'Once upon a time' >"$scratch/lines"

# --- Models, and what is derived ----------------------------------------------------------------

models=(models/tiny-gpt2 $fixtures/{family-gemma3-text,attn-bidirectional})
! is_full || models=(fable models/tiny-gpt2 $fixtures/{family-[!w]*,attn-[!cs]*,gpt2-[!o]*})
for model in "${models[@]}"; do
    input=(--ids "$ids") sites=$all
    case $model in
    fable) input=(-p "$text") ;;
    */attn-values) sites='*' ;;
    */attn-mlp-stack) sites='*,weighted_pattern,value_zeroing' ;;
    esac
    same_run "$sites" run -m "$model" "${input[@]}"
done
same_run '*,weighted_pattern,value_zeroing' run -m interpreter --source 'The cat sat on the mat' \
    -p '猫坐在垫子上'
same_run '*' run -m $fixtures/attn-stack --ids "$ids"

# From here on the sample leaves out folders, which hold hundreds of files.
is_full || tensors=("${tensors[@]:4}")

# Each site by itself: a pass ends where nothing more is wanted.
sites=(k attn_scores rollout weighted_pattern value_zeroing logits)
! is_full || sites+=(embed resid_pre q v qk pattern z attn_out resid_mid mlp_pre mlp_post mlp_out resid_post
    ln_final)
for site in "${sites[@]}"; do
    same run --sites $site "${tensors[@]}" -p "$text"
    is_full || continue
    for chosen in '--heads 1.2,2.0-3' '--queries 3,7-9' '--layers 2' '--precision 3' '-t 4'; do
        read -ra options <<<"$chosen"
        same run "${options[@]}" --sites $site "${tensors[@]}" -p "$text"
    done
    same run --sites $site -p "$text"
done

# --- Kinds of attention -------------------------------------------------------------------------

kinds=(strided random:3 hybrid:2:5)
masks=(causal)
! is_full || kinds=(full window:4 strided strided:3 log random:3 block:4 hybrid:2:5) masks+=(none)
for kind in "${kinds[@]}"; do
    for mask in "${masks[@]}"; do
        same run --attention $kind --mask $mask --sites "$all" "${tensors[@]}" -p "$text"
        is_full || continue
        same_run '*' run --attention $kind --mask $mask --heads 0.1,2.* --queries 0,4-9 -t 4 -p "$text"
        same_run '*' run --attention $kind --mask $mask --attention dropout=0.3 -p "$text"
        same_run '*' attend "${q[@]}" --attention $kind --mask $mask
    done
    same attend "${q[@]}" --attention $kind --mask causal --sites '*' "${tensors[@]}"
    is_full || continue
    [ $kind != full ] || continue # nothing to compare it with
    same diff --with-attention $kind --jsonl "$seen/diff.jsonl" "$text"
done
for kind in linear linear:relu linear:exp:raw lowrank:3; do
    mask=(--mask causal)
    [ $kind != lowrank:3 ] || mask=(--mask none)
    same run --attention $kind "${mask[@]}" --sites '*' "${tensors[@]}" -p "$text"
    same attend "${q[@]}" --attention $kind "${mask[@]}" --sites '*' "${tensors[@]}"
done
for option in '--attention masking=renormalize' '--attention masking=zero' '--attention similarity=cosine' '--attention algorithm=blockwise' \
    '--attention dropout=0.4' '--compute bf16' '--attention scale=off' '--knockout 3>1@1.*' \
    '--ablate uniform:1.1' '--ablate mean:2.2'; do
    read -ra options <<<"$option"
    same run "${options[@]}" --sites '*' "${tensors[@]}" -p "$text"
    ! is_full || same run "${options[@]}" "${patterns[@]}" -p "$text"
done
ATTN_CLI_GEMM=jit same run --sites "$all" "${tensors[@]}" -p "$text"
ATTN_CLI_GEMM=jit same run --compute bf16 --sites '*' "${tensors[@]}" -p "$text"
for mask in 004_simple_attention_causal 004_simple_attention_padding; do
    golden=tests/golden/attend/$mask
    for masking in inf renormalize zero; do
        same attend --q "$golden/q.npy" --k "$golden/k.npy" --v "$golden/v.npy" --mask "$golden/mask.npy" \
            --attention "masking=$masking" --sites '*' "${tensors[@]}"
    done
done
same attend --x "$arrays.hook_resid_pre.npy" --sites '*' "${tensors[@]}"
same attend --scores "$arrays.attn.hook_attn_scores.npy" --sites '*' "${tensors[@]}"

# --- Views and pictures -------------------------------------------------------------------------

views=(--csv "$seen/csv" --json "$seen/all.json" "${patterns[@]}")
for view in --merge-words "--hide first" --renormalize; do
    same run $view "${views[@]}" -p "$text"
    same run $view -p "$text"
done
for figure in matrix grid arcs tokens patches:1x3; do
    draw_into "$figure" svg html
    same run --figure $figure --heads 2.5 --queries 2 --sites pattern "${drawn[@]}" -p 'The keys to'
done
draw_into derived svg
same run --sites weighted_pattern --layers 1 "${drawn[@]}" -p "$text"
draw_into pattern png pdf
same run --heads 2.* "${drawn[@]}" -p "$text"

# --- Commands -----------------------------------------------------------------------------------

same run --top 5 --next ' are' --queries -1 --json "$seen/a.json" -p "$text"
same run --heads 2.2 --queries -1 --explain -p "$text"
same heads "${tables[@]}" -p "$text"
same heads --effect --target ' are' "${tables[@]}" -p "$text"
same heads --by pair "${tables[@]}" -p "$text"
same probe induction --runs 2 "${tables[@]}"
same heads --items "$scratch/lines" --items-format lines "${tables[@]}"
for part in head attn mlp layer; do
    same ablate --by $part --replacement mean --target ' are' "${tables[@]}" -p "$text"
done
same ablate --by neuron:1 --target ' are' --csv "$seen/a.csv" -p 'The keys'
same ablate --replacement uniform --control 3 --cumulative --target ' are' "${tables[@]}" -p "$text"
same ablate -m $fixtures/family-phi --target ids:4 "${tables[@]}" --ids "$ids"
for site in z k pattern resid_pre mlp_out; do
    same patch --clean 'The keys to the door' --corrupted 'The key to the door' --target ' are' \
        --foil ' is' --site $site "${tables[@]}"
done
same lens "${tables[@]}" -p "$text"
same lens --heads-out "${tables[@]}" -p "$text"
same attribute --target ' are' "${tables[@]}" -p "$text"
same attribute --by token --target ' are' "${tables[@]}" -p "$text"
same score --csv "$seen/a.csv" --jsonl "$seen/a.jsonl" -p "$text"
same score --items "$scratch/lines" --items-format lines
same diff 'The keys to the door' 'The key to the door' "${tables[@]}"
same generate -n 8 --seed 3 --temperature 0.8 --top-p 0.9 -p "$text"
same generate -n 4 --sites "$all" "${tensors[@]}" -p "$text"
same inspect fable
same inspect --json fable
same batch -q --items-format lines --sites pattern,z --top 3 --jsonl "$seen/out.jsonl" "$scratch/lines"
same run -q --items-format lines --items "$scratch/lines" --sites pattern --npz "$seen/out.npz"
same run -q --items-format lines --items "$scratch/lines" --sites pattern --csv "$seen/out.csv"
same score -q --items-format lines --items "$scratch/lines" --by word --measures surprisal --each "$seen/out.csv"
same tokenize "$text"
same init "$seen/model" --vocab-from 'to be or not' --set d_model=8 --set n_head=2 --draw embed=randn@7
finish
