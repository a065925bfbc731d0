# scale_attn_by_inverse_layer_idx: layer 2 multiplies its scores by 1/3
attn-cli run -m "$FIXTURES/gpt2-silu" --heads 2.0 --queries 2 --explain --ids 3,1,5 | sed -n '/^2/,/sum  /p'
