attn-cli tokenize -m life-is-short --window 3 "Life is short"
