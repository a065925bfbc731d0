# a causal model that looks to the right as well, and the other way round
LIFE="Life is short, eat dessert first"
attn-cli run -m "$MODELS/life-is-short" --mask none --sites pattern --precision 4 --csv causal-free "$LIFE"
attn-cli run -m "$MODELS/self-attention" --sites pattern --precision 4 --csv free "$LIFE"
attn-cli run -m "$MODELS/self-attention" --mask causal --sites pattern --precision 4 --csv free-causal "$LIFE"
attn-cli run -m "$MODELS/life-is-short" --sites pattern --precision 4 --csv causal "$LIFE"
diff -r causal-free free && diff -r free-causal causal && echo "the same"
