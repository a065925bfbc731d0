printf 'ab\xffc' | attn-cli tokenize -m "$MODELS/tiny-gpt2" -
