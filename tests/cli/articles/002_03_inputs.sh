# [[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]]
attn-cli run -m "$MODELS/your-journey" --sites embed --precision 2 --csv - "Your journey starts with one step"
