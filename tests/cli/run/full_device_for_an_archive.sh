attn-cli run --npz /dev/full "Life is short, eat dessert first"
