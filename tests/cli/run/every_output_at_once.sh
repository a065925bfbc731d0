# Each file is the same as when it is written alone.
run() { attn-cli run -m "$MODELS/tiny-gpt2" --sites '*' "$@" "The keys are here"; }
mkdir one all
run --csv all/csv --tidy all/t.csv --npy all/npy --npz all/a.npz --json all/j.json
run --csv one/csv
run --tidy one/t.csv
run --npy one/npy
run --npz one/a.npz
run --json one/j.json
diff -r one all && ls all
run --json - --npz again.npz >again.json && cmp again.json one/j.json && cmp again.npz one/a.npz
