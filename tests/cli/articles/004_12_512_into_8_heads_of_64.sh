# q is [T, 8, 64] and the heads side by side are 512 again
attn-cli init model --vocab-from "a b" --set d_model=512 --set n_head=8 --draw embed=randn@1 --draw heads=rand
attn-cli run -m model --sites q,attn_out --npy . "a b"
for site in attn.hook_q hook_attn_out; do
    head -c 128 blocks.0.$site.npy | grep -ao "'shape': ([^)]*)"
done
