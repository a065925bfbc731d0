# triu(diagonal=1) is masked, and not the main diagonal: each word sees itself, and none after it
attn-cli run -m "$MODELS/life-is-short" --tidy - "Life is short, eat dessert first" |
    awk -F , 'NR > 1 { own += $4 == $5; later += $5 > $4 } END { print own, later }'
