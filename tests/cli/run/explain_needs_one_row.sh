attn-cli run -m "$FIXTURES/attn-grouped" --heads 0,1 --explain "the dog slept"
