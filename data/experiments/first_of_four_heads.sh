#!/bin/sh
# first_of_four_heads.sh - one head is the first of four that are drawn from the same generator; four
# heads of width 1 are something else than one head of width 4, although both give four numbers.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

TEXT="Life is short, eat dessert first"
for model in one-head four-heads; do
    attn-cli run -m $model --heads 0 --sites q,k,v,qk,pattern,z --csv "of-$model" "$TEXT"
done
diff -rx run.json of-one-head of-four-heads >/dev/null && echo "head 0 of four is the same as the one head, bit for bit"

echo
echo "The first word's context vector:"
printf '  four heads of width 1'
for head in 0 1 2 3; do
    attn-cli run -m four-heads --heads $head --queries 0 --sites z --precision 4 --csv - "$TEXT" |
        awk -F , 'NR == 2 { printf "  %7s", $2 }'
done
printf '\n  one head of width 4  '
attn-cli run -m self-attention --queries 0 --sites z --precision 4 --csv - "$TEXT" |
    awk -F , 'NR == 2 { for (j = 2; j <= NF; j++) printf "  %7s", $j; print "" }'
