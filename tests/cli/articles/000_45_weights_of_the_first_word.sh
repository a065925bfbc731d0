# row 0 [0.1772, 0.1326, 0.1879, 0.1645, 0.1547, 0.1831]
attn-cli run -m "$MODELS/self-attention" --sites pattern --queries 0 --precision 4 --csv - "Life is short, eat dessert first"
