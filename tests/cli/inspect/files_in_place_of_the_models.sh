attn-cli inspect life-is-short --weights "$MODELS/life-is-short/model.safetensors" --config "$MODELS/life-is-short/config.json" | sed -n '/^Files/,/^$/p'
