attn-cli run --sent "Life"
