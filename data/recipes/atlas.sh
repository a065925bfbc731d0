#!/bin/bash
# atlas.sh - what every head of a model does over many texts: a table and a page.
#
#     data/recipes/atlas.sh MODEL TEXTS [FOLDER [OPTION...]]
#
# TEXTS are records as `attn-cli batch` reads them; OPTIONs are its own (--items-format lines, -t 4). In FOLDER,
# default atlas: atlas.csv has a row for each head, with mean, standard deviation and number of texts
# of each measure; atlas.html shows each measure as a grid of layers and heads. After an interruption
# the same command goes on where it stopped.
set -eu
[ $# -ge 2 ] || { echo "usage: $0 MODEL TEXTS [FOLDER [OPTION...]]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
model=$1 texts=$2 folder=${3-atlas}
shift $(($# < 3 ? $# : 3))

mkdir -p "$folder"
attn-cli batch -m "$model" --fields ids -o "$folder/records.jsonl" --csv "$folder/measures.csv" \
    --resume "$@" "$texts" || [ $? -eq 6 ] # some records failed: they are not in the table
awk -f "$here/atlas_table.awk" "$folder/measures.csv" >"$folder/atlas.csv.part"
mv "$folder/atlas.csv.part" "$folder/atlas.csv"
awk -v title="Heads of $(basename "$model") over $(basename "$texts")" -f "$here/atlas_page.awk" \
    "$folder/atlas.csv" >"$folder/atlas.html.part"
mv "$folder/atlas.html.part" "$folder/atlas.html"
echo "$folder/atlas.csv and $folder/atlas.html: $(($(wc -l <"$folder/atlas.csv") - 1)) heads"
