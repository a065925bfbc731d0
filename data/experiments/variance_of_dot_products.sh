#!/bin/sh
# variance_of_dot_products.sh - the variance of q.k grows with the width d, and dividing by sqrt(d)
# undoes it. q and k: 300 vectors each of standard normal numbers, so 90000 products for each d.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

variance() {
    awk -F , 'NR > 1 { for (j = 2; j <= NF; j++) { n++; sum += $j; square += $j * $j } }
        END { printf "%.4f", square / n - (sum / n) ^ 2 }' "$1"
}

echo "    d   variance of q.k  over d   of q.k / sqrt(d)"
for d in 1 4 16 64 256 1024; do
    attn-cli init "d$d" --vocab-from "$(seq 600)" --set "d_model=$d" --set blocks=cross \
        --set projections=none --draw embed=randn@123
    attn-cli run -m "d$d" --source "$(seq 301 600)" --sites qk,attn_scores --csv "$d" "$(seq 300)"
    raw=$(variance "$d/L00H00.qk.csv")
    scaled=$(variance "$d/L00H00.attn_scores.csv")
    awk -v d="$d" -v raw="$raw" -v scaled="$scaled" \
        'BEGIN { printf "%5d  %16.1f  %6.2f  %17.2f\n", d, raw, raw / d, scaled }'
done
