attn-cli inspect --length 18 "$MODELS/tiny-gpt2"
