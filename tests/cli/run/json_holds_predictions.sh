# They are printed too, unless standard output holds data.
run() { attn-cli run -m "$MODELS/tiny-gpt2" --sites pattern --heads 0.0 --top 2 --next ' are' --next ' "is' "$@" "The keys"; }
run --json - --precision 4 | sed -n '/predictions/,$p'
run --json with.json
sed -n '/predictions/,$p' with.json
run --tidy - --json beside.json
cmp with.json beside.json
