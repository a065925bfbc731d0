attn-cli tokenize -m life-is-short --window 1 --format json "Life is short"
