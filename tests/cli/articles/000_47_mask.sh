# tril of ones, row 0 [1, 0, 0, 0, 0, 0]: a causal pattern has a cell, 1, or none, 0
attn-cli run -m "$MODELS/life-is-short" --sites pattern --csv - "Life is short, eat dessert first" |
    awk -F , 'NR > 1 { for (j = 2; j <= NF; j++) printf "%d%s", $j != "", j < NF ? " " : "\n" }'
