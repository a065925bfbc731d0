attn-cli run -m "$FIXTURES/gpt2-old" --heads 1.0 --queries 1 --explain --ids 3,1
