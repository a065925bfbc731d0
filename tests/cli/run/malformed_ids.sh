attn-cli run -m life-is-short --ids 0,-1
