attn-cli help init
