attn-cli tokenize -m life-is-short --format ids "Life is short, eat dessert first"
attn-cli tokenize --format=ids -m "$MODELS/tiny-gpt2" "The keys"
