attn-cli init toy --set d_model=4 --vocab-from "a b" --embedding-rows 1
