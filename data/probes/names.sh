#!/bin/bash
# Prints, for each frame of names.tsv, of how many made-up names a model goes on with the whole name:
# in sentences whose like it was trained on, and in others. Asks attn-cli and nothing else.
# Usage: names.sh MODEL [OPTION...]; options go to attn-cli generate.

set -euo pipefail
folder=$(dirname "$0")
model=$1
shift

names="Zorkimox Balu Sagatu Zorhu Kawobe Mipa Droplobeza Gada Paquatholo Bizi"
printf '%-8s %5s %6s  %s\n' kind names copied frame
while IFS=$'\t' read -r frame kind; do
    [[ $frame == frame ]] && continue
    n=0 copied=0
    for name in $names; do
        said=$(attn-cli generate -q -m "$model" -n 8 "$@" --sentence "${frame//NAME/$name}")
        n=$((n + 1))
        [[ "$said " == " $name"[^a-z]* ]] && copied=$((copied + 1))
    done
    printf '%-8s %5d %6d  %s\n' "$kind" $n $copied "$frame"
done <"$folder/names.tsv"
