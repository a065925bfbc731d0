attn-cli tokenize -m life-is-short --pairs --format json "Life is short"
attn-cli tokenize --pairs --format json -m "$MODELS/tiny-gpt2" 'é "'
