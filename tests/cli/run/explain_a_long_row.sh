# 24 components and 40 keys, the heaviest of which stands between those shown at both ends
attn-cli run -m "$FIXTURES/gpt2-wide" --heads 3 --queries -1 --explain \
    --ids "$(seq -s , 1 40)"
