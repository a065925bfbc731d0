#!/bin/bash
# Prints the map of the heads of a model, as Markdown: where each looks in text that training did not
# see, and in 64 sequences of 50 random tokens, each said twice. Asks attn-cli and nothing else.
# Usage: heads.sh MODEL

set -euo pipefail
folder=$(dirname "$0")
text=$(mktemp) probe=$(mktemp)
trap 'rm -f "$text" "$probe"' EXIT

attn-cli heads -m "$1" --items "$folder/../../../data/probes/unseen.txt" --items-format lines --csv - >"$text"
attn-cli probe -m "$1" induction:50 --runs 64 --csv - >"$probe"
echo '| head | previous | duplicate | induction | first | self | entropy | distance |'
echo '|---|---|---|---|---|---|---|---|'
paste -d , "$text" "$probe" | awk -F , '
    function sum() {
        if (NR > 2) printf "| %d, sum | %.2f | | %.2f | | | | |\n", layer, previous, induction
        previous = induction = 0
    }
    NR == 1 { for (i = 1; i <= NF; i++) { if (!($i in of)) of[$i] = i; last[$i] = i }; next }
    $of["layer"] != layer { sum() }
    { layer = $of["layer"]
      previous += $of["previous"]; induction += $last["induction"]
      printf "| %d.%d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f |\n", layer, $of["head"],
          $of["previous"], $last["duplicate"], $last["induction"], $of["first"], $of["self"],
          $of["entropy_norm"], $of["distance"] }
    END { sum() }'
