for way in zero renormalize; do
    attn-cli run -m "$MODELS/life-is-short" --masking $way --queries 1 --explain "Life is short, eat dessert first" |
        sed -n '/^2/,/^3/p'
done
