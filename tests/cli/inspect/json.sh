attn-cli inspect --json --length 8 "$FIXTURES/attn-grouped"
