attn-cli inspect --length 8 "$FIXTURES/attn-grouped" | sed -n '/^Multiply/,$p'
