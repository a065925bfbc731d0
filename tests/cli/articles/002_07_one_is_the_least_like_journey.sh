# the text says 0.7074, the print 0.7070
attn-cli run -m "$MODELS/your-journey" --sites qk --queries 1 --precision 4 --csv - "Your journey starts with one step" |
    cut -d , -f 6
