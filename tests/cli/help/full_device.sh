attn-cli --help >/dev/full
