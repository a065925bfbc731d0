attn-cli tokenize --window 3 "Life is short"
