# What a selection keeps is what the whole has there, line by line.
run() { attn-cli run -m "$MODELS/tiny-gpt2" --sites pattern,z "$@" "The keys are here"; }
rows() { grep -oE '^\[[-0-9][^]]*' "$1" | sort; }
run --tidy all.csv --json all.json
run --tidy some.csv --json some.json --heads 1.2 --queries 2-3
grep -E '^(id|0,1,2,[23],)' all.csv | cmp - some.csv
rows some.json | wc -l
rows all.json >all
rows some.json | comm -23 - all
