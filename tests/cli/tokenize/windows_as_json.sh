attn-cli tokenize --window 1 --format json "Life is short"
