#!/bin/bash
# Prints what the probes and the loss on text become without some heads, as Markdown. Asks attn-cli
# and nothing else.
# Usage: ablate.sh MODEL SET...; a set is heads as --ablate takes them, or none: 3.2,3.5 or 1.*
#
# A probe counts the items whose right word is less surprising than the wrong one; random ids, how
# often the most probable token is right in the second half of 64 sequences of 50 ids, each said
# twice; the loss is the mean surprisal of a token of data/probes/unseen.txt, in nats.

set -euo pipefail
probes=$(dirname "$0")/../../../data/probes
model=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The items of a probe: a prompt with the right and the wrong word.
for probe in agreement coreference indirect_object sense induction brackets; do
    awk -F '\t' 'NR > 1 { gsub(/"/, "\\\""); printf "{\"text\":\"%s\",\"target\":\"%s\",\"foil\":\"%s\"}\n", $1, $2, $3 }' \
        "$probes/$probe.tsv" >"$work/$probe"
done
cp "$probes/unseen.txt" "$work/text"
awk 'BEGIN { x = 43
    for (s = 0; s < 64; s++) {
        ids = ""
        for (i = 0; i < 50; i++) { x = x * 16807 % 2147483647; ids = ids "," x % 2040 }
        print "{\"ids\": [" substr(ids ids, 2) "]}"
    } }' >"$work/random"

# ask COMMAND SET FILE OPTION...: what COMMAND says of the items of FILE without the heads of SET.
ask() {
    local command=$1 set=$2 file=$3
    shift 3
    [[ $set == none ]] || set -- "$@" --ablate "$set"
    attn-cli "$command" -q -m "$model" --items "$work/$file" "$@"
}

# The share, in percent, of items in which the right word is less surprising than the wrong one.
right() {
    ask score "$1" "$2" --csv - --columns right | awk 'NR == 2 { printf "%.1f", 100 * $1 }'
}

random_ids() {
    ask run "$1" random --top 1 --queries 50-98 --jsonl - |
        awk '{ match($0, /"ids":\[[^]]*/); n = split(substr($0, RSTART + 7, RLENGTH - 7), ids, ",")
               for (rest = $0; match(rest, /"position": ?[0-9]+, ?"id": ?[0-9]+/);) {
                   split(substr(rest, RSTART, RLENGTH), word, /[^0-9]+/)
                   rest = substr(rest, RSTART + RLENGTH)
                   all++; good += word[3] == ids[word[2] + 2]
               } }
             END { printf "%.1f", 100 * good / all }'
}

loss() {
    ask score "$1" text --items-format lines --each - |
        awk -F , 'NR > 1 { nats += $2; n += $4 } END { printf "%.3f", nats / n }'
}

echo '| without | agreement | coreference | indirect_object | sense | induction | brackets | random ids | loss on text |'
echo '|---|---|---|---|---|---|---|---|---|'
for set in "$@"; do
    printf '| %s |' "$set"
    for probe in agreement coreference indirect_object sense induction brackets; do
        printf ' %s |' "$(right "$set" "$probe")"
    done
    printf ' %s | %s |\n' "$(random_ids "$set")" "$(loss "$set")"
done
