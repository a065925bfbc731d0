# batch [2, 6, 3] -> context [2, 6, 1024]; equal texts give equal vectors
for text in 1 2; do
    attn-cli run -m "$FIXTURES/golden-002-causal-attention-1024" --sites embed,z --npy $text "Your journey starts with one step"
    head -c 128 $text/hook_embed.npy | grep -ao "'shape': ([^)]*)"
    head -c 128 $text/blocks.0.attn.hook_z.npy | grep -ao "'shape': ([^)]*)"
done
diff -r 1 2
