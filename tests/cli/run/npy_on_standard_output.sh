attn-cli run --npy - "Life is"
