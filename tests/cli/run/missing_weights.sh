cp -r "$MODELS/life-is-short" model
rm model/model.safetensors
attn-cli run -m model "Life"
