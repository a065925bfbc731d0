# [-0.6004, 3.4707, -1.5023, 0.4991, 1.2903, -1.3374]
attn-cli run -m "$MODELS/self-attention" --sites qk --queries 1 --precision 4 --csv - "Life is short, eat dessert first"
