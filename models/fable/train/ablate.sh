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

# The items of a probe: two lines each, the prompt with the right and with the wrong word.
for probe in agreement coreference indirect_object sense induction brackets; do
    awk -F '\t' 'NR > 1 { print $1 $2; print $1 $3 }' "$probes/$probe.tsv" >"$work/$probe"
done
cp "$probes/unseen.txt" "$work/text"
awk 'BEGIN { x = 43
    for (s = 0; s < 64; s++) {
        ids = ""
        for (i = 0; i < 50; i++) { x = x * 16807 % 2147483647; ids = ids "," x % 2040 }
        print "{\"ids\": [" substr(ids ids, 2) "]}"
    } }' >"$work/random"

# batch SET FILE OPTION...: the records of FILE without the heads of SET.
batch() {
    local set=$1 file=$2
    shift 2
    [[ $set == none ]] || set -- "$@" --ablate "$set"
    attn-cli batch -q -m "$model" "$@" "$work/$file"
}

# The share, in percent, of items whose first line ends in the less surprising word.
right() {
    batch "$1" "$2" --items-format lines --fields surprisal |
        sed 's/.*[,[]\([^],]*\)\]}$/\1/' |
        awk 'NR % 2 { right = $1; next } { n++; good += right < $1 } END { printf "%.1f", 100 * good / n }'
}

random_ids() {
    batch "$1" random --top 1 --queries 50-98 --fields ids,predictions |
        awk '{ match($0, /"ids":\[[^]]*/); n = split(substr($0, RSTART + 7, RLENGTH - 7), ids, ",")
               for (rest = $0; match(rest, /"position": ?[0-9]+, ?"id": ?[0-9]+/);) {
                   split(substr(rest, RSTART, RLENGTH), word, /[^0-9]+/)
                   rest = substr(rest, RSTART + RLENGTH)
                   all++; good += word[3] == ids[word[2] + 2]
               } }
             END { printf "%.1f", 100 * good / all }'
}

loss() {
    batch "$1" text --items-format lines --fields surprisal |
        sed 's/.*\[null,*\(.*\)\]}$/\1/' | tr , '\n' |
        awk 'NF { n++; nats += $1 } END { printf "%.3f", nats / n }'
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
