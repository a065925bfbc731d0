attn-cli tokenize "Life is short, eat dessert first"
