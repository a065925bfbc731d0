# way 1: row 0 [0.1772, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000]; masked cells are empty
attn-cli run -m "$MODELS/life-is-short" --masking zero --sites pattern --precision 4 --csv - "Life is short, eat dessert first"
