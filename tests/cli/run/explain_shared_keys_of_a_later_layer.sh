attn-cli run -m "$FIXTURES/attn-grouped" --heads 1.4 --queries 2 --explain "the dog slept under an old chair"
