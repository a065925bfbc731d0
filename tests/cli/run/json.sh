attn-cli run -m life-is-short --json - "Life is short"
