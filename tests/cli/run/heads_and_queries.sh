attn-cli run -m "$MODELS/tiny-gpt2" --heads 0.2,L2H1 --queries -1 "The keys are"
