sed 's/"short": 5/"short": 5, "long": 6/' "$MODELS/life-is-short/vocab.json" >vocab.json
attn-cli run -m "$MODELS/life-is-short" --vocab vocab.json "Life is short"
