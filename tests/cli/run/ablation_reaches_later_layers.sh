# Heads of layer 0 leave their own patterns alone and change those of later layers.
run() { attn-cli run -q -m "$MODELS/tiny-gpt2" --sites pattern --csv "$@" "The keys are"; }
run plain
run ablated --ablate 0.0,0.2
cd plain
for file in *; do
    if cmp -s "$file" "../ablated/$file"; then echo "$file: same"; else echo "$file: changed"; fi
done
