attn-cli run -m "$MODELS/life-is-short" --similarity cosine --eps 0.5 --dropout 0.5 --seed 3 --queries 3 --explain \
    "Life is short, eat dessert first"
