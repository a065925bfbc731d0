attn-cli run -m "$MODELS/tiny-gpt2" --top 4 "The keys are"
