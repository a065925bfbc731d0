# scale_attn_by_inverse_layer_idx: layer 1 divides its scores by 2.
cp -r "$MODELS/tiny-gpt2" model
sed -i 's/"scale_attn_by_inverse_layer_idx": false/"scale_attn_by_inverse_layer_idx": true/' model/config.json
attn-cli inspect model | grep '^  attention [0-9]'
