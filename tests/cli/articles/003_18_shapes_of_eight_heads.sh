# d = 512, d_k = d_v = 64, h = 8: W_Q, W_K, W_V [512, 64] a head, W_O [512, 512], 1048576 numbers in all
attn-cli init model --vocab-from "a" --set d_model=512 --set n_head=8 --set out_proj=true --draw embed=randn
attn-cli inspect model | grep -E "d_head|attn.W_|  attention  "
