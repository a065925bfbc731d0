printf 'a\n\n' >text
attn-cli tokenize -m "$MODELS/tiny-gpt2" -f text
echo raw
attn-cli tokenize -m "$MODELS/tiny-gpt2" --raw -f text
