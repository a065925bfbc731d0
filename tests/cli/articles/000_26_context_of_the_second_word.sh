# [0.5313, 1.3607, 0.7891, 1.3110]
attn-cli run -m "$MODELS/self-attention" --sites z --queries 1 --precision 4 --csv - "Life is short, eat dessert first"
