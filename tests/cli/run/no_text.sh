attn-cli run
