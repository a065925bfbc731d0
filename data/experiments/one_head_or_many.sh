#!/bin/sh
# one_head_or_many.sh - 512 numbers as one head of 512, 8 of 64 or 32 of 16: as many parameters, as
# many multiply-adds; only the products are smaller and more.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The number that stands after NAME in the inspection.
number() {
    sed -n "s/.*\"$1\": \([0-9][0-9]*\).*/\1/p" inspection | head -n 1
}

echo "heads  width  parameters   multiply-adds of 1024 words:"
echo "                           projections  matrices   of one matrix"
for n in 1 8 32; do
    attn-cli init "heads-$n" --vocab-from a --set d_model=512 --set "n_head=$n" --set causal=false \
        --set out_proj=true --draw embed=randn
    attn-cli inspect --length 1024 --json "heads-$n" | tr '{}' '\n\n' >inspection
    matrices=$(number matrices)
    printf '%5d  %5d  %10d  %12d  %9d  %14d\n' "$n" $((512 / n)) "$(number attention)" \
        "$(number projections)" "$matrices" $((matrices / n))
done
