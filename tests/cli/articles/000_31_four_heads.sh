# row 0 [-0.0185, 0.0170, 0.1999, -0.0860]: the heads side by side
attn-cli run -m "$MODELS/four-heads" --sites z --precision 4 --csv . "Life is short, eat dessert first"
for head in 0 1 2 3; do
    cut -d , -f 2 L00H0$head.z.csv >column$head
done
paste -d , column*
