cp -r "$MODELS/life-is-short" model
echo '{"Life": 0, "is": 0}' >model/vocab.json
attn-cli run -m model "Life"
