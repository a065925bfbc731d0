attn-cli inspect life-is-short
attn-cli inspect -m life-is-short | cmp - <(attn-cli inspect life-is-short)
