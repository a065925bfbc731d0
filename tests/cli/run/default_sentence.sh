attn-cli run --sentence "Life is short, eat dessert first"
