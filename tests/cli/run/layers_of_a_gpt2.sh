attn-cli run -m "$MODELS/tiny-gpt2" "The keys are"
