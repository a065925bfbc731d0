attn-cli tokenize "Life is" >/dev/full
