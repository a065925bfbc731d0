mkdir model
cp "$MODELS/tiny-gpt2/config.json" "$MODELS/tiny-gpt2/model.safetensors" model
mv model $'m "\xff\e'
attn-cli run -m $'m "\xff\e' --ids 5,17 --sites attn_scores --heads 0.0 --precision 2 --json -
