# [0.0386, 0.6870, 0.0204, 0.0840, 0.1470, 0.0229]
attn-cli run -m "$MODELS/self-attention" --sites pattern --queries 1 --precision 4 --csv - "Life is short, eat dessert first"
