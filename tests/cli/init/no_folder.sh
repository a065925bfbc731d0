attn-cli init
