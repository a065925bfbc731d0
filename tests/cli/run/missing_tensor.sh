sed 's/"n_layer": *[0-9]*/"n_layer": 4/' "$MODELS/tiny-gpt2/config.json" >config.json
attn-cli run -m "$MODELS/tiny-gpt2" --config config.json "The keys"
