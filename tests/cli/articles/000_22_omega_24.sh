# omega_24 = query_2.dot(keys[4]) = 1.2903
attn-cli run -m "$MODELS/self-attention" --sites qk --queries 1 --precision 4 --csv - "Life is short, eat dessert first" |
    tail -n 1 | cut -d , -f 6
