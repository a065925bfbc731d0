# The rows of another length that the article draws after its weights.
attn-cli run -m "$FIXTURES/golden-000-cross-attention" --ids "$(seq -s, 0 5)" --sites z --csv - \
    --precision 4 --source "$FIXTURES/../golden/000_cross_attention/source.npy"
