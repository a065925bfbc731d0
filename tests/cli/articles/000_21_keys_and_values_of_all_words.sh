# keys.shape: torch.Size([6, 2]), values.shape: torch.Size([6, 4]); between the two stands the head
attn-cli run -m "$MODELS/self-attention" --sites k,v --npy . "Life is short, eat dessert first"
for site in k v; do
    head -c 128 blocks.0.attn.hook_$site.npy | grep -ao "'shape': ([^)]*)"
done
