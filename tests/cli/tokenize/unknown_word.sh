attn-cli tokenize -m life-is-short "Life is shrt"
