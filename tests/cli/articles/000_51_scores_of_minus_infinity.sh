# way 3: row 0 of the scores [0.0613, -inf, ...], and of the weights [1.0000, 0.0000, ...]
LIFE="Life is short, eat dessert first"
attn-cli run -m "$MODELS/life-is-short" --scale off --sites attn_scores --queries 0 --precision 4 --csv - "$LIFE"
attn-cli run -m "$MODELS/life-is-short" --sites pattern --precision 4 --csv inf "$LIFE"
cat inf/*
# It is -inf in arrays: five times 00 00 80 ff.
attn-cli run -m "$MODELS/life-is-short" --scale off --sites attn_scores --queries 0 --npy . "$LIFE"
tail -c 24 blocks.0.attn.hook_attn_scores.npy | od -An -tx1 -w4
# Way 2 gives the same weights.
attn-cli run -m "$MODELS/life-is-short" --masking renormalize --sites pattern --precision 4 --csv renormalize "$LIFE"
diff -r inf renormalize && echo "the same"
