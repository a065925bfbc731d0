cp -r "$MODELS/life-is-short" model
echo '{"model_type": "llama"}' >model/config.json
attn-cli inspect model
