#!/bin/bash
# Prints how many sentences of interpreter.tsv a model translates without a fault, and how often heads
# look at the word that a Chinese word comes from. Asks attn-cli and nothing else.
# Usage: translate.sh MODEL FILE [HEAD ROW]...; FILE is as data/corpus/pairs.py writes it. ROW is
# "written": the row of a character looks at what this character was made from; or "writing": the row
# before it, which predicts the character, does. OPTIONS in the environment go to attn-cli, as in
# OPTIONS="--ablate 1.0" translate.sh interpreter interpreter.tsv

set -euo pipefail
model=$1 file=$2
shift 2
read -ra options <<<"${OPTIONS:-}"

# The key of the heaviest weight of each row: "QUERY:KEY ...".
heaviest() { # ENGLISH CHINESE HEAD
    attn-cli run -q -m "$model" "${options[@]}" --sites pattern --heads "$3" --tidy - --source "$1" --sentence "$2" |
        awk -F , 'NR > 1 && (!($4 in most) || $NF > most[$4]) { most[$4] = $NF; key[$4] = $5 }
                  END { for (query in key) printf "%s:%s ", query, key[query] }'
}

while IFS=$'\t' read -r english chinese _; do
    written=$(attn-cli generate -q -m "$model" "${options[@]}" -n 40 --source "$english" "")
    [[ $written == "$chinese" ]] && echo 1 || echo 0
done <"$file" | awk '{ right += $1 } END { printf "translated without a fault: %d of %d\n", right, NR }'

while (($# > 0)); do
    while IFS=$'\t' read -r english chinese links; do
        cells=$(heaviest "$english" "$chinese" "$1")
        printf '%s\t%s\n' "$links" "$cells"
    done <"$file" | awk -F '\t' -v head="$1" -v row="$2" '
        # A Chinese word is the characters behind one another that come from the same words. It is
        # right when all its characters are. Position 0 of both sequences is <|endoftext|>.
        { n = split($2, cells, " ")
          split("", key)
          for (i = 1; i <= n; i++) { split(cells[i], cell, ":"); key[cell[1]] = cell[2] }
          n = split($1, links, " ")
          split("", origin)
          last = 0
          for (i = 1; i <= n; i++) {
              split(links[i], link, "-")
              origin[link[2] + 1] = origin[link[2] + 1] " " (link[1] + 1) " "
              if (link[2] + 1 > last) last = link[2] + 1
          }
          before = ""
          for (at = 1; at <= last + 1; at++) {
              now = at in origin ? origin[at] : ""
              if (now != before && before != "") { words++; right += is_right }
              if (now != before) is_right = 1
              if (now != "" && !index(now, " " key[row == "writing" ? at - 1 : at] " ")) is_right = 0
              before = now
          } }
        END { printf "head %s, row %-8s %d of %d words, %.1f %%\n", head, row ":", right, words, 100 * right / words }'
    shift 2
done
