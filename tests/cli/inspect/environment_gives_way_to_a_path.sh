export ATTN_CLI_MODEL="$MODELS/tiny-gpt2"
attn-cli inspect | sed 1q
attn-cli inspect "$MODELS/your-journey" | sed 1q
attn-cli inspect "$MODELS/tiny-gpt2" | sed 1q
