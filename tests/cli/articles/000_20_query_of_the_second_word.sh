# torch.Size([2]), and of k and v [2] and [4]: the shapes have a place for the position and the head
attn-cli run -m "$MODELS/self-attention" --sites q,k,v --queries 1 --npy . "Life is short, eat dessert first"
for site in q k v; do
    head -c 128 blocks.0.attn.hook_$site.npy | grep -ao "'shape': ([^)]*)"
done
