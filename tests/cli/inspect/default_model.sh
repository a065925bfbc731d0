attn-cli inspect | sed 1q
attn-cli inspect | cmp - <(attn-cli inspect fable)
