attn-cli help tokenize
