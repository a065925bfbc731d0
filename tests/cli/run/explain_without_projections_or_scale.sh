attn-cli run -m "$MODELS/your-journey" --queries 1 --explain "Your journey starts with one step"
