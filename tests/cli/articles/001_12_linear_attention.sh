# phi(Q) (phi(K)^T V): the article has no sum below it and leaves phi open; here phi = elu + 1, without
# that sum (raw) and with it, in which case rows of the matrix that it means add to 1
LIFE="Life is short, eat dessert first"
for kind in linear:elu:raw linear:elu; do
    attn-cli run -q -m "$MODELS/self-attention" --attention $kind --sites z --precision 4 --csv - "$LIFE"
    attn-cli run -q -m "$MODELS/self-attention" --attention $kind --sites pattern --csv - "$LIFE" |
        awk -F , 'NR > 1 { sum = 0; for (j = 2; j <= NF; j++) sum += $j; printf "%.4f ", sum } END { print "" }'
done
