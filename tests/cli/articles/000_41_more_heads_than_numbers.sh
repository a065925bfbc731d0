# heads beyond the width would be less than a number wide
attn-cli init model --vocab-from "a b" --set d_model=3 --set n_head=5 --draw embed=randn
