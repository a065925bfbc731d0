cp -r "$MODELS/life-is-short" model
echo '{"Life": 7}' >model/vocab.json
attn-cli inspect model
