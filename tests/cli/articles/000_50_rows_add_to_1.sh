attn-cli run -m "$MODELS/life-is-short" --sites pattern --csv - "Life is short, eat dessert first" |
    awk -F , 'NR > 1 { sum = 0; for (j = 2; j <= NF; j++) sum += $j; printf "%s %.6f\n", $1, sum }'
