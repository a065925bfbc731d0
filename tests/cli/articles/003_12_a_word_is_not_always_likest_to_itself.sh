# starts.journey 1.4754 is more than starts.starts 1.4570
attn-cli run -m "$MODELS/your-journey" --sites qk --queries 2 --precision 4 --csv - "Your journey starts with one step"
