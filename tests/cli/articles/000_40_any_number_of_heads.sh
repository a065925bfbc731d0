# ViT has 12 to 16 heads; 128 are no other case
for n in 12 16 128; do
    attn-cli init heads-$n --vocab-from "a b" --set d_model=256 --set n_head=$n --set d_head=2 --draw embed=randn@1 --draw heads=rand
    attn-cli run -m heads-$n --heads -1 --queries -1 "a b" | grep layer
done
