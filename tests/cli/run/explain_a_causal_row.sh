attn-cli run -m "$MODELS/life-is-short" --queries 1 --explain "Life is short, eat dessert first"
