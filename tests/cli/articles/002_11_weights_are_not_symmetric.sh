attn-cli run -m "$MODELS/your-journey" --sites pattern --tidy - "Your journey starts with one step" |
    awk -F , '$4 + $5 == 3 && $4 * $5 == 2 { print $6, $7, $8 }'
