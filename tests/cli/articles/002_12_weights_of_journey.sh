# 0.1180, 0.2026, 0.1986 are those of seven vectors; of the six words they are
attn-cli run -m "$MODELS/your-journey" --sites pattern --queries 1 --precision 4 --csv - "Your journey starts with one step" |
    tail -n 1 | cut -d , -f 2-4
