attn-cli inspect >/dev/full
