attn-cli run Life is short
