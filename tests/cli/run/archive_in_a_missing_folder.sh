attn-cli run -m life-is-short --npz missing/all.npz "Life is"
