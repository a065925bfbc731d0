attn-cli run --promt "Life"
