# "When some heads fail the others still serve": not in general. Without head 1.0 another token is the
# likeliest.
for ablation in "" "--ablate 1.0"; do
    attn-cli run -q -m "$MODELS/tiny-gpt2" $ablation --top 1 "The keys are"
done
