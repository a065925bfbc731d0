mkdir model
cp "$MODELS/life-is-short/config.json" "$MODELS/life-is-short/model.safetensors" model
attn-cli run -m model --ids 0,4,5
