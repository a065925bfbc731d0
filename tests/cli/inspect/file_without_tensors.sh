printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
attn-cli inspect none.safetensors
attn-cli inspect --check none.safetensors
attn-cli inspect --json --check none.safetensors
