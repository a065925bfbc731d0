# attn-cli --help, -h and help say the same.
attn-cli --help
attn-cli -h | cmp - <(attn-cli --help)
attn-cli help | cmp - <(attn-cli --help)
