attn-cli inspect --length 5 "$MODELS/tiny-gpt2/model.safetensors"
