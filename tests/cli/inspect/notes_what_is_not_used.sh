sed 's/blocks\.0\.attn\.W_Q/blocks.9.attn.W_X/' "$MODELS/life-is-short/model.safetensors" >changed.safetensors
attn-cli inspect -m "$MODELS/your-journey" --weights changed.safetensors | sed -n '/^Parameters/,$d;1p'
attn-cli inspect -q -m "$MODELS/your-journey" --weights changed.safetensors | sed 1q
