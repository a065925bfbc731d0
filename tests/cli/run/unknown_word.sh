attn-cli run -m life-is-short "Life is shorter"
