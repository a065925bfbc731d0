attn-cli inspect "$MODELS/tiny-gpt2/vocab.json"
