attn-cli run -m "$MODELS/tiny-gpt2" --sites 'embed,resid_*' --layers -1 "The keys"
