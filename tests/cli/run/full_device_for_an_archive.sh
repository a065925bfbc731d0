attn-cli run -m life-is-short --npz /dev/full "Life is short, eat dessert first"
