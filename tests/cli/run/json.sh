attn-cli run --json - "Life is short"
