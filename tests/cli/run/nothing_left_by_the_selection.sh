attn-cli run -m "$MODELS/tiny-gpt2" --layers 1 --heads 0.2 "The keys"
