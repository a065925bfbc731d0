attn-cli run --ids 0,-1
