#!/bin/bash
# mutations.sh - how a model of proteins (ESM) scores each point mutation of a protein: a table.
#
#     data/recipes/mutations.sh MODEL PROTEIN.fasta [FILE.csv [OPTION...]]
#
# Masked marginals of Meier et al. 2021: each residue is masked once, and the score of K17R is
# ln p(R) - ln p(K) at the mask. Above 0 the model expects R there rather than K. FILE.csv, default
# mutations.csv, has a row for each of 19 other residues of each position. OPTIONs are those of
# `attn-cli run` (-t 4). After an interruption the same command goes on where it stopped.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 MODEL PROTEIN.fasta [FILE.csv [OPTION...]]" >&2; exit 2; }
model=$1 protein=$2 table=${3-mutations.csv}
shift $(($# < 3 ? $# : 3))

letters=$(awk '/^>/ && n++ { exit 1 } n && !/^[>;]/ { gsub(/[ \t\r]/, ""); printf "%s", $0 }' "$protein") || {
    echo "mutations.sh: '$protein' has several proteins, expected one" >&2
    exit 2
}
letters=${letters%\*}
[[ $letters =~ ^[A-Z.-]+$ ]] || { echo "mutations.sh: '$protein' has no protein of the letters A to Z" >&2; exit 2; }

asked=()
for letter in A C D E F G H I K L M N P Q R S T V W Y; do asked+=(--next "$letter"); done
awk -v all="$letters" 'BEGIN {
    for (i = 1; i <= length(all); i++)
        printf "{\"id\": %d, \"text\": \"%s<mask>%s\"}\n", i, substr(all, 1, i - 1), substr(all, i + 1)
}' >"$table.jsonl"
attn-cli run -m "$model" --items "$table.jsonl" "${asked[@]}" --csv "$table.rows" --resume "$@"
awk -F, -v all="$letters" 'BEGIN { print "position,wild,mutant,score" }
FNR > 1 { p[$1, $4] = $5; if ($4 == "Y") for (i = 1; i <= 20; i++) {
    mutant = substr("ACDEFGHIKLMNPQRSTVWY", i, 1); wild = substr(all, $1, 1)
    if (($1, wild) in p && mutant != wild) printf "%d,%s,%s,%.7g\n", $1, wild, mutant, p[$1, mutant] - p[$1, wild]
} }' "$table.rows" >"$table.new"
mv "$table.new" "$table"
rm -f "$table.rows" "$table.jsonl"
echo "$table: $(($(wc -l <"$table") - 1)) mutations of ${#letters} residues"
