attn-cli run -m "$MODELS/tiny-gpt2" --top 3 --npz - "The keys"
