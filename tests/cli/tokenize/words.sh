attn-cli tokenize -m life-is-short "Life is short, eat dessert first"
