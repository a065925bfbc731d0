attn-cli run "Life is shorter"
