attn-cli inspect "$MODELS/tiny-gpt2"
