# row 0 [-0.1564, 0.1028, -0.0763, -0.0764], row 1 is the context vector of the second word
attn-cli run -m "$MODELS/self-attention" --sites z --precision 4 --csv - "Life is short, eat dessert first"
