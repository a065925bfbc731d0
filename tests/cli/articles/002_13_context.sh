# Printed are the 7x3 vectors of seven: [0.4420, 0.6016, 0.5774], [0.4419, 0.6515, 0.5683] ...
attn-cli run -m "$FIXTURES/golden-002-journey-7" --sites z --precision 4 --csv - "Your journey starts with one step (journey)"
# Those of the six words:
attn-cli run -m "$MODELS/your-journey" --sites z --precision 4 --csv - "Your journey starts with one step"
