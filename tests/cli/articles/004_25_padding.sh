# mask == 0 is -inf: keys 3, and 2 and 3 of the second text are padding and get nothing
golden="$FIXTURES/../golden/004_simple_attention"
attn-cli attend --q "$golden/q.npy" --k "$golden/k.npy" --v "$golden/v.npy" --mask "$golden/padding.mask.npy" \
    --sites pattern --precision 4 --csv .
head -n 9 *.csv
