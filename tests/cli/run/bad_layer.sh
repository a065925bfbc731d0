attn-cli run -m "$MODELS/tiny-gpt2" --layers 3 "The keys"
