attn-cli run -t two "Life"
