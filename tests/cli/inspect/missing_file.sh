attn-cli inspect nothing.safetensors
