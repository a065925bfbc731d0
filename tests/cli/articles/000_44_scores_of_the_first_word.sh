# row 0 [0.0613, -0.3491, 0.1443, -0.0437, -0.1303, 0.1076]
attn-cli run -m "$MODELS/self-attention" --sites qk --queries 0 --precision 4 --csv - "Life is short, eat dessert first"
