printf 'a\xf0\x9f\xa6 b\xff' | attn-cli tokenize -m "$MODELS/tiny-gpt2" --invalid replace --format ids -
attn-cli tokenize -m "$MODELS/tiny-gpt2" --format ids 'a� b�'
