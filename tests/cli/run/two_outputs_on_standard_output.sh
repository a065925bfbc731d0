attn-cli run --csv - --npz - "Life is"
