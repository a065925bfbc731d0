attn-cli run -m cross-attention "Life is short"
