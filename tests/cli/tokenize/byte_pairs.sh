attn-cli tokenize -m "$MODELS/tiny-gpt2" "The keys are here."
