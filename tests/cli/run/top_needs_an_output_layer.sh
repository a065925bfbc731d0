attn-cli run -m life-is-short --top 3 "Life is"
