attn-cli tokenise
