attn-cli run --csv - "Life is short"
