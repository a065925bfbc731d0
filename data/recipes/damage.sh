#!/bin/bash
# damage.sh - what quantization did to every head of a model, over many texts: a table and a picture.
#
#     data/recipes/damage.sh MODEL TEXTS FOLDER QUANTIZED...
#
# MODEL is what the others were made from, or the best of them; TEXTS has a text per line. For each
# QUANTIZED `attn-cli diff` compares where the heads look, text by text, and `attn-cli score` counts
# what that costs. In FOLDER: damage.csv has a row for each model and head, with its type in MODEL (as
# `attn-cli heads` finds it in repeated random tokens, else in the texts), the mean over texts of
# tv and js, and the largest tv_max; scores.csv has bits a weight, bits a token and perplexity of
# each model; damage.svg shows a grid of layers and heads for each. Each text counts once.
set -euo pipefail
[ $# -ge 4 ] || { echo "usage: $0 MODEL TEXTS FOLDER QUANTIZED..." >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
model=$1 texts=$2 folder=$3
shift 3
[ -r "$texts" ] || { echo "damage.sh: '$texts' cannot be read" >&2; exit 2; }

mkdir -p "$folder"
cell() { printf '"%s"' "${1//\"/\"\"}"; } # a name as CSV has it

echo model,bits_per_weight,texts,tokens,bits,perplexity >"$folder/scores.csv.part"
for one in "$model" "$@"; do
    weight=$(attn-cli inspect -q --json "$one" | sed -n 's/^  "bits_per_weight": \([0-9.]*\),$/\1/p')
    { attn-cli score -q -m "$one" --items "$texts" --items-format lines --by token --csv - ||
        [ $? -eq 6 ]; } | # texts of one token have no score
        awk -F, -v model="$(cell "$one")" -v weight="$weight" \
            'NR == 2 { printf "%s,%.4g,%d,%d,%.6g,%.6g\n", model, weight, $8, $7, $4, 2 ^ $4 }' \
            >>"$folder/scores.csv.part"
done
attn-cli heads -q -m "$model" --items "$texts" --items-format lines --csv - >"$folder/heads.csv.part"
attn-cli probe -q -m "$model" induction --csv - >>"$folder/heads.csv.part"

echo model,layer,head,type,texts,tv,tv_max,js >"$folder/damage.csv.part"
for one; do
    while IFS= read -r text || [ -n "$text" ]; do
        attn-cli diff -q -m "$model" --with "$one" --csv - -- "$text" || exit
    done <"$texts" | awk -v model="$(cell "$one")" -f "$here/damage_table.awk" "$folder/heads.csv.part" - \
        >>"$folder/damage.csv.part"
done
awk -v title="What quantization did to the heads of $(basename "$model"), over $(basename "$texts")" \
    -f "$here/damage_picture.awk" "$folder/scores.csv.part" "$folder/damage.csv.part" >"$folder/damage.svg.part"
rm "$folder/heads.csv.part"
for name in scores.csv damage.csv damage.svg; do mv "$folder/$name.part" "$folder/$name"; done
awk -f "$here/damage_summary.awk" "$folder/scores.csv" "$folder/damage.csv"
