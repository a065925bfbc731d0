# way 2: row 0 [1.0000, 0.0000, ...], rows add to 1; masked cells are empty
attn-cli run -m "$MODELS/life-is-short" --masking renormalize --sites pattern --precision 4 --csv - "Life is short, eat dessert first"
