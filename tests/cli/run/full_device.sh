attn-cli run "Life is short, eat dessert first" >/dev/full
