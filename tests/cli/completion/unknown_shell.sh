attn-cli completion csh
