cp -r "$MODELS/life-is-short" model
head -c 100 "$MODELS/life-is-short/model.safetensors" >model/model.safetensors
attn-cli run -m model "Life"
