attn-cli run --npz missing/all.npz "Life is"
