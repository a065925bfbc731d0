attn-cli run --top 3 "Life is"
