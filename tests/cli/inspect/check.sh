attn-cli inspect --check "$MODELS/tiny-gpt2"
attn-cli inspect --check "$MODELS/tiny-gpt2/model.safetensors" --load read
