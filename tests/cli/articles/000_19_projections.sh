# d_q = d_k = 2, d_v = 4: torch.rand(3, 2), torch.rand(3, 2), torch.rand(3, 4), one head of them
attn-cli init model --vocab-from "Life is short, eat dessert first" --drop , \
    --set d_model=3 --set d_head=2 --set d_value=4 --draw heads=rand@123
attn-cli inspect model | grep attn.W_
