attn-cli tokenize "Life is shrt"
