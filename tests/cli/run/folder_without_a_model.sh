mkdir empty
attn-cli run -m empty "Life"
