attn-cli run -m "$MODELS/self-attention" --queries 1 --explain "Life is short, eat dessert first"
