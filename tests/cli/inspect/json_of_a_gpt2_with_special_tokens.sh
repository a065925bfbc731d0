attn-cli inspect --json "$MODELS/tiny-gpt2" | grep -v '"name": "transformer'
