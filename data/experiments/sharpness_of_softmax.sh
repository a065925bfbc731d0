#!/bin/sh
# sharpness_of_softmax.sh - without the scale a softmax of wide vectors picks one key, and changes of
# its scores change nothing any more; with it, it stays as it is. q and k: standard normal numbers.
# Means over 100 queries of 100 keys: the largest weight, the number of keys that count (e to the
# entropy), and 1 - sum of squares, the trace of the softmax's Jacobian, which is what a gradient is
# multiplied with.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

measure() {
    awk -F , 'NR > 1 {
            most = 0
            for (j = 2; j <= NF; j++) {
                if ($j > most) most = $j
                if ($j > 0) entropy -= $j * log($j)
                square += $j * $j
            }
            sum += most; n++
        } END { printf "%9.3f %6.1f %9.3f", sum / n, exp(entropy / n), 1 - square / n }' "$1"
}

echo "                 unscaled                   scaled"
echo "    d    largest   keys  gradient    largest   keys  gradient"
for d in 1 4 16 64 256 1024; do
    for scale in false true; do
        attn-cli init "$scale$d" --vocab-from "$(seq 200)" --set "d_model=$d" --set blocks=cross \
            --set projections=none --set "scale=$scale" --draw embed=randn@123
        attn-cli run -m "$scale$d" --source "$(seq 101 200)" --sites pattern --csv - "$(seq 100)" \
            >"$scale.csv"
    done
    printf '%5d  %s  %s\n' "$d" "$(measure false.csv)" "$(measure true.csv)"
done
