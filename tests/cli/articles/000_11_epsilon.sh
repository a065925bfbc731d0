# softmax(QK^T / (sqrt(d) + eps)) V. What the article prints has no eps; with one the weights move, here
# by a golden file's, which the unit test test_golden_arrays compares in full.
for eps in 0 1e-8 0.1 1; do
    attn-cli run -m "$MODELS/self-attention" --eps $eps --sites pattern --queries 1 --precision 4 --csv - \
        "Life is short, eat dessert first" | tail -n 1
done
