#!/bin/sh
# nothing_leaks.sh - behind a causal mask nothing that comes later reaches what came before: when the
# last word changes, everything that a GPT-2 of three layers computes before it is the same bit for
# bit. Without a mask all of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# In how many rows SITE of MODEL is the same for two texts, of which the second ends in another word.
compare() {
    for last in 8 9; do
        attn-cli run -m "$1" --layers -1 --sites "$2" --csv - --ids "5,17,3,200,31,$last" |
            cut -d , -f 2- >"$last"
    done
    paste 8 9 | awk -F '\t' -v name="$3" 'NR > 1 { n++; same += $1 == $2 }
        END { print name ": " same + 0 " of " n " rows are the same" }'
}

make() {
    attn-cli init "$1" --vocab-from "$(seq 300)" --set d_model=16 --set n_head=2 --set n_layer=3 \
        --set residual=true --set "causal=$2" --draw embed=randn@123 --draw qkv=linear
}

make masked true
make free false
compare tiny-gpt2 ln_final "a GPT-2"
compare masked resid_post "three causal layers"
compare free resid_post "three layers without a mask"
