# The weights of one GPT-2 under the config of another: both shapes are named.
sed 's/"n_embd": *[0-9]*/"n_embd": 18/' "$MODELS/tiny-gpt2/config.json" >config.json
attn-cli run -m "$MODELS/tiny-gpt2" --config config.json "The keys"
