attn-cli bench -m cross-attention
