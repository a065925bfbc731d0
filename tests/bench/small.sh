#!/usr/bin/env bash
# small.sh - runs every script of tests/bench once, and each target bench* of make, on models so small that each takes
# seconds: a name that was removed is an error here, long before somebody wants to know how fast the tool is (make check-bench).
#
#   small.sh [PYTHON [PART]]
#
# PART is a name that it prints. Nothing that it prints is a measurement. A peer that PYTHON lacks is skipped by name; one that fails is a failure.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/part.sh

python=$(command -v "${1:-python3}") || { echo "small.sh: no ${1:-python3}" >&2 && exit 1; }
here=tests/bench
only=${2-}
cli=$PWD/$build/attn-cli
unset MAKEFLAGS MAKEOVERRIDES # of check-bench
make=(make --no-print-directory "BUILD=$build")
export BENCH_SMALL=yes PYTHONPATH=$PWD/lib/python LIBATTN=$PWD/$build/libattn.so

# Runs COMMAND, whose output must have LINE. What an import did not find is skipped.
try() { # NAME LINE COMMAND...
    local name=$1 line=$2 start=$SECONDS status last
    [ "${only:-$name}" = "$name" ] || return
    local missing="missing: |ModuleNotFoundError|there is no transformer_lens"
    shift 2
    timeout 600 "$@" >"$scratch/out" 2>&1 </dev/null
    status=$?
    last=$(grep -v '^make' "$scratch/out" | tail -n 1)
    grep -E "^left out: .*($missing)" "$scratch/out" | sed "s|^left out: |skipped bench: $name: |"
    if [ $status -ne 0 ] && grep -qE "$missing" <<<"$last"; then
        echo "skipped bench: $name: $last"
    elif [ $status -ne 0 ] || { [ -n "$line" ] && ! grep -qE "$line" "$scratch/out"; } || grep '^left out: ' "$scratch/out" | grep -qvE "$missing"; then
        sed 's/^/    /' "$scratch/out"
        fail "tests/bench/small.sh ${python@Q} ${name@Q} # status $status"
    else
        echo "$name: $((SECONDS - start)) s"
        pass
    fi
}

model=$scratch/models/gpt2-random
try gpt2.py '' "$python" $here/peers/gpt2.py "$model"
[ -e "$model" ] || "$python" $here/peers/gpt2.py "$model"

# A part at a time, so that each failure is seen.
beside() { # NAME LINE OPTION...
    local name=$1 line=$2
    shift 2
    try "peers.py, $name" "$line" "${make[@]}" bench "PYTHON=$python" "BENCH_FOLDER=$scratch/models" "BENCH_ARGS=--rounds 1 $*"
}

beside prefill '^prefill, 6 tokens ' --parts prefill,feed,gradients,decode --lengths 6
beside write '^write, npy' --parts write,files --only numpy
beside process '^6 tokens, --npy ' --parts process --only numpy,ONNX
beside batch 'tokens +attn-cli heads --items' --parts batch --only transformers
beside bert-base '^prefill, 6 tokens ' --family bert-base --parts prefill,feed --lengths 6
try records.py '^attn-cli run --items --jsonl' "$python" $here/records.py "$cli" small 40 1
try growth.py '^\| items of 6 to 34' "$python" $here/growth.py "$cli" 1 0
try studies.py '^attn-cli ablate --items' "$python" $here/studies.py "$cli" "$model" 1 1
try estimates.py 'the same to' "$python" $here/estimates.py "$cli" "$model" 6 1
try families.py '^tiny-llama decode ' "$python" $here/families.py --models tiny-t5,tiny-llama --rounds 1 --tokens 6 --folder "$scratch/families"
try fable_graph.py '' "$python" $here/peers/fable_graph.py "$scratch/fable.onnx"
try random_gguf.py '' "$python" $here/random_gguf.py "$scratch/random.gguf" Q4_K 1
[ ! -e "$scratch/random.gguf" ] || only= try 'bench of random_gguf.py' '^decode' "$build/tests/bench/bench_parts" --model "$scratch/random.gguf" --parts decode --seconds 0
[ ! -e "$scratch/random.gguf" ] || only= try published.py '^\| random.gguf \| one token ' "$python" $here/published.py "$cli" "$scratch/random.gguf"
try cold_products.c '^3072 x  768, 128 rows' "${make[@]}" bench-cold BENCH_ARGS='0 1'
try bench_parts '^write,"?json, ' "${make[@]}" bench-parts BENCH_ARGS='--model models/tiny-gpt2 --seconds 0'
if command -v node >/dev/null; then
    try wasm.mjs '^each later one, 200 tokens' "${make[@]}" bench-wasm BENCH_ARGS=1
else
    echo 'skipped bench: wasm.mjs: node is missing'
fi
[ -z "$only" ] || finish bench
echo 'skipped bench: onnx_runtime_web.mjs: it needs ONNX Runtime Web, which nothing here installs'

for target in $(sed -nE 's/^(bench[a-z-]*):.*/\1/p' tests/tests.mk); do
    grep -qE "make\[@\]\}\" $target( |$)" $here/small.sh || fail "tests/bench/small.sh # make $target is not run"
done
# All scripts are above, or read by one of those.
for file in $here/*.* $here/peers/*.*; do
    name=$(basename "$file")
    case $name in
    README.md | small.sh) ;;
    batches.py | processes.py | shapes.py | map_and_sum.c | bert.py | worker.py) ;; # of peers.py
    *) grep -qF "$name" $here/small.sh $here/peers.py || fail "tests/bench/small.sh # $name is not run" ;;
    esac
done
finish bench
