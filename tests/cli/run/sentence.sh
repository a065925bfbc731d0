attn-cli run -m life-is-short --sentence "Life is short, eat dessert first"
