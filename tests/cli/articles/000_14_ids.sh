# tensor([0, 4, 5, 2, 1, 3])
attn-cli tokenize -m "$MODELS/life-is-short" --format ids "Life is short, eat dessert first"
