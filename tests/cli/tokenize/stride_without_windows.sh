attn-cli tokenize --stride 2 "Life is"
