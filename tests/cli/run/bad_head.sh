attn-cli run -m "$MODELS/tiny-gpt2" --heads 5.1 "The keys"
