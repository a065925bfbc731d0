attn-cli help inspect
attn-cli inspect --help | cmp - <(attn-cli help inspect)
