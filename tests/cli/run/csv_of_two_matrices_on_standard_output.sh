attn-cli run -m life-is-short --csv - "Life is short"
