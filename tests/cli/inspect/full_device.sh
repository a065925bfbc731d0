attn-cli inspect life-is-short >/dev/full
