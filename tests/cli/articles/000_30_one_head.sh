# row 0 [-0.0185]
attn-cli run -m "$MODELS/one-head" --sites z --precision 4 --csv - "Life is short, eat dessert first"
