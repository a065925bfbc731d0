# the single head is column 0 of the four, bit for bit
for model in one-head four-heads; do
    attn-cli run -m "$MODELS/$model" --heads 0 --sites q,k,v,pattern,z --csv $model "Life is short, eat dessert first"
done
diff -r one-head four-heads && ls four-heads
