#!/bin/bash
# Prints, for each probe and kind of it, how often a model finds the right word more probable than
# the wrong one, and how often it finds it the most probable of all. Asks attn-cli and nothing else.
# Usage: run.sh MODEL [OPTION...]; options go to attn-cli run, as in run.sh fable --ablate 2.3
# PROBES="sense induction" takes these only.

set -euo pipefail
folder=$(dirname "$0")
model=$1
shift

# ask PROMPT RIGHT WRONG: prints the log-probabilities of both words, and 1 where the right one is the
# most probable of all, else 0.
ask() {
    local said first top right wrong
    said=$(attn-cli run -q -m "$model" "${options[@]}" --top 1 --next "$2" --next "$3" \
        --sentence "$1")
    first=${said%%$'\n'*}
    top=${first#*$'\t'*$'\t'}
    said=${said#*$'\n\n'}
    right=${said%%$'\t'*}
    said=${said#*$'\n'}
    wrong=${said%%$'\t'*}
    echo "$right $wrong $([[ $top == "$2" ]] && echo 1 || echo 0)"
}

options=("$@")
printf '%-18s %-10s %6s %8s %8s\n' probe kind items right first
for probe in ${PROBES:-agreement coreference indirect_object sense induction brackets}; do
    while IFS=$'\t' read -r prompt right wrong kind _; do
        [[ $prompt == prompt ]] && continue
        answer=$(ask "$prompt" "$right" "$wrong")
        echo "$kind $answer"
    done <"$folder/$probe.tsv" | awk -v probe="$probe" '
        function show(kind) {
            printf "%-18s %-10s %6d %7.1f%% %7.1f%%\n", probe, kind, items[kind],
                100 * right[kind] / items[kind], 100 * first[kind] / items[kind]
        }
        { n = split($1 " all", kinds, " ")
          for (i = 1; i <= n; i++) {
              if (!(kinds[i] in items)) order[++count] = kinds[i]
              items[kinds[i]]++; right[kinds[i]] += $2 > $3; first[kinds[i]] += $4
          } }
        END { for (i = 1; i <= count; i++) if (order[i] != "all") show(order[i])
              if (count > 2) show("all") }'
done
