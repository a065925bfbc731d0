attn-cli run -m cross-attention --source "dessert first" "Life is short"
