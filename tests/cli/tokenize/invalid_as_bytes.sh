printf 'a\xff' | attn-cli tokenize -m "$MODELS/tiny-gpt2" --invalid bytes -
