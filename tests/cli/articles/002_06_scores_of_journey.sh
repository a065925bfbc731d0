# [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]
attn-cli run -m "$MODELS/your-journey" --sites qk --queries 1 --precision 4 --csv - "Your journey starts with one step"
