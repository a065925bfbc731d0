attn-cli tokenize -m life-is-short "Life is" >/dev/full
