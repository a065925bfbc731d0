attn-cli run --quiet=yes "Life"
