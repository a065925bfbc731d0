# CausalAttention(..., dropout = 0.0): nothing is dropped, bit for bit
attn-cli run -m "$FIXTURES/golden-002-linear" --mask causal --sites pattern,z --csv none "Your journey starts with one step"
attn-cli run -m "$FIXTURES/golden-002-linear" --mask causal --dropout 0 --sites pattern,z --csv zero "Your journey starts with one step"
diff -r none zero && ls zero
