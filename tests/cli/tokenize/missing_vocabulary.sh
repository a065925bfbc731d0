mkdir model
cp "$MODELS/life-is-short/config.json" model
attn-cli tokenize -m model "Life"
