attn-cli inspect --weights "$MODELS/life-is-short/model.safetensors" --config "$MODELS/life-is-short/config.json" | sed -n '/^Files/,/^$/p'
