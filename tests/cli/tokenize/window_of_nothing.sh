attn-cli tokenize --window 0 "Life is"
