attn-cli run -m "$MODELS/tiny-gpt2" --heads 1.0 --queries 1 --ablate '1.*' --explain "The keys are"
