attn-cli tokenize -m life-is-short --format json "Life is short, eat dessert first"
printf 'say "\\"\n\x01' | attn-cli tokenize --raw --format json -m "$MODELS/tiny-gpt2" -f -
attn-cli tokenize -m life-is-short --format json ""
