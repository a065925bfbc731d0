attn-cli completion
