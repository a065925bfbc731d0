attn-cli inspect --vocab "$MODELS/tiny-gpt2/vocab.json" "$MODELS/tiny-gpt2/model.safetensors"
