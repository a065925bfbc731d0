#!/bin/bash
# Prints, for heads of a model, how often the last row of a probe's prompts gives the right token
# more weight than the wrong ones together. Asks attn-cli and nothing else.
# Usage: look.sh MODEL HEADS; lines of the file HEADS are a probe, a kind of it or "all", and heads
# as --heads takes them, by tabs. The weights of several heads are added.

set -euo pipefail
folder=$(dirname "$0")
model=$1

# The weights of the last row: "KEY:WEIGHT ..." for each head.
weights() {
    attn-cli run -q -m "$model" --sites pattern --heads "$2" --queries -1 --tidy - --sentence "$1" |
        awk -F , 'NR > 1 { printf "%s:%s ", $5, $NF }'
}

printf '%-18s %-10s %-9s %6s %8s\n' probe kind head items right
while IFS=$'\t' read -r probe wanted head; do
    while IFS=$'\t' read -r prompt _ _ kind right_at wrong_at; do
        [[ $prompt == prompt || $right_at == - || $wrong_at == - ]] && continue
        [[ $wanted == all || $wanted == "$kind" ]] || continue
        row=$(weights "$prompt" "$head")
        printf '%s\t%s\t%s\n' "$right_at" "$wrong_at" "$row"
    done <"$folder/$probe.tsv" | awk -F '\t' -v probe="$probe" -v kind="$wanted" -v head="$head" '
        function weight(places,    sum, n, i, at) {
            n = split(places, at, ",")
            for (i = 1; i <= n; i++) sum += row[at[i]]
            return sum
        }
        { n = split($3, cells, " ")
          split("", row)
          for (i = 1; i <= n; i++) { split(cells[i], cell, ":"); row[cell[1]] += cell[2] }
          right += weight($1) > weight($2) }
        END { printf "%-18s %-10s %-9s %6d %7.1f%%\n", probe, kind, head, NR, 100 * right / NR }'
done <"$2"
