attn-cli inspect nothing
