# Whatever the kind, the mask and what is done to scores and weights, the steps come to what was computed.
LIFE="Life is short, eat dessert first"
for options in "--mask none" "--masking renormalize" "--masking zero" "--masking zero --similarity cosine" \
    "--similarity cosine --eps 0.5" "--scale off" "--dropout 0.5 --seed 3" "--algorithm blockwise" \
    "--attention window:2" "--attention strided:2" "--attention log" "--attention random:3" "--attention block:2" \
    "--attention hybrid:1:3 --mask none"; do
    for query in 0 3 5; do
        attn-cli run -q -m "$MODELS/life-is-short" $options --queries $query --explain "$LIFE" >page || echo "status $?"
        echo "$options: $(sed -n 6p page)"
    done
done
