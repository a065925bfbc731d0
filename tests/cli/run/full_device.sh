attn-cli run -m life-is-short "Life is short, eat dessert first" >/dev/full
