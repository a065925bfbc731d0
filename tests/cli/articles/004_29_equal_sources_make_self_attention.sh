# It is the source that is equal, and not Q, K and V: cross-attention to one's own text, bit for bit
LIFE="Life is short, eat dessert first"
attn-cli run -m "$MODELS/cross-attention" --source "$LIFE" --sites q,k,v,pattern,z --npy cross "$LIFE"
attn-cli run -m "$MODELS/self-attention" --sites q,k,v,pattern,z --npy self "$LIFE"
for tensor in self/blocks.*; do
    cmp "$tensor" "cross/${tensor#self/}" && echo "${tensor#self/}"
done
attn-cli run -m "$MODELS/cross-attention" --source "eat dessert first" --sites k --npy other "$LIFE"
cmp -s other/blocks.0.attn.hook_k.npy cross/blocks.0.attn.hook_k.npy || echo "another source has other keys"
