#!/bin/sh
# order_without_positions.sh - attention without a mask knows no order: words in another order have
# the same context vectors, in that order. With positions added to the embeddings, or with a mask,
# this is over.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The largest difference between the context vectors of the same word, in two orders.
compare() {
    attn-cli run -m "$1" --sites z --csv - "a b c d e f" >first.csv
    attn-cli run -m "$1" --sites z --csv - "d f a e c b" >second.csv
    for order in first second; do
        sed '1d; s/^[0-9]*|//' $order.csv | sort
    done | awk -F , -v name="$2" '
        { for (j = 2; j <= NF; j++) {
            if (NR <= 6) { x[$1, j] = $j; continue }
            difference = x[$1, j] - $j
            if (difference < 0) difference = -difference
            if (difference > most) most = difference } }
        END { print name ": " (most < 1e-6 ? "the same vectors" : sprintf("vectors differ by up to %.2f", most)) }'
}

make() {
    name=$1
    shift
    attn-cli init "$name" --vocab-from "a b c d e f" --set d_model=8 --set n_ctx=6 "$@" \
        --draw embed=randn@123 --draw qkv=randn
}

make plain --set causal=false
make masked --set causal=true
make positions --set causal=false --set positions=learned --draw pos=randn@1
compare plain "no mask, no positions"
compare masked "causal mask"
compare positions "no mask, positions"
