attn-cli run -m "$MODELS/tiny-gpt2" --next '' "The keys"
