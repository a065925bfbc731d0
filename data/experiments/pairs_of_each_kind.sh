#!/bin/sh
# pairs_of_each_kind.sh - how the work grows with the number n of tokens: pairs of a query and a key,
# counted, for causal attention of each kind; n steps of a state for linear attention, which has no
# pairs. The last column is the exponent of n between the two longest texts: 2 for n^2, 1.5 for
# n*sqrt(n), a little over 1 for n*log(n), 1 for n.
#
#   pairs_of_each_kind.sh [time]     with `time`: milliseconds of one head of 64 in place of pairs
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

what=${1:-pairs}
lengths="64 256 1024 4096"
[ "$what" = pairs ] || lengths="1024 4096 16384"
attn-cli init model --vocab-from "$(seq 16384)" --set d_model=64 --set projections=none \
    --draw embed=randn@123

# What the run of a KIND over N tokens says on standard error.
notes() {
    attn-cli run -v -m model --attention "$1" --sites z --npy z "$(seq "$2")" 2>&1
}

measure() {
    case $what-$1 in
    time-*) notes "$1" "$2" | sed -n 's/.*: ran in \(.*\) ms/\1/p' ;;
    *-full) notes log "$2" | sed -n 's/.* of \([0-9,]*\) pairs.*/\1/p' ;;
    *-linear) echo "$2" ;;
    *) notes "$1" "$2" | sed -n 's/.* computes \([0-9,]*\) of .*/\1/p' ;;
    esac | tr -d ,
}

printf '%-9s' "n"
printf ' %9d' $lengths
echo "  exponent"
for kind in full strided log window:16 block:16 random:16 linear; do
    counts=
    for n in $lengths; do
        counts="$counts $(measure "$kind" "$n")"
    done
    echo "$kind $counts" | awk '{ # lengths are four times the one before
        printf "%-9s", $1
        for (i = 2; i <= NF; i++) printf " %9s", $i
        printf "  %8.2f\n", log($NF / $(NF - 1)) / log(4) }'
done
