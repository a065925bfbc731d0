attn-cli
