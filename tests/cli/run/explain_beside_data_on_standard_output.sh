attn-cli run -m "$MODELS/life-is-short" --queries 1 --explain --tidy - "Life is short"
