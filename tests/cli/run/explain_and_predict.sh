attn-cli run -m "$MODELS/tiny-gpt2" --heads 1.0 --queries -1 --explain --top 1 "The keys are" | sed -n '1p;$p'
