# Printed are the 7x7 weights of seven vectors, row 0 [0.1792, 0.1713, 0.1692, 0.1061, 0.1042, 0.1240, 0.1459] ...
attn-cli run -m "$FIXTURES/golden-002-journey-7" --sites pattern --precision 4 --csv - "Your journey starts with one step (journey)"
# Those of the six words:
attn-cli run -m "$MODELS/your-journey" --sites pattern --precision 4 --csv - "Your journey starts with one step"
