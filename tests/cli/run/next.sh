attn-cli run -m "$MODELS/tiny-gpt2" --next ' are' --next ' is' "The keys"
