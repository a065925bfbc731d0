attn-cli tokenize --pairs --window 2 "Life is short"
