attn-cli init missing/toy --set d_model=4 --vocab-from "a b"
