attn-cli tokenize
