mkdir model
cp "$MODELS/life-is-short/config.json" "$MODELS/life-is-short/vocab.json" model
attn-cli tokenize -m model --format ids "Life is short"
