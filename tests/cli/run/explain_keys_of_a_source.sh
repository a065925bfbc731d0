attn-cli run -m "$MODELS/cross-attention" --source "eat dessert first is" --queries 1 --explain "Life is short"
