attn-cli init toy --set d_model=4 --vocab-from a --vocab-from-file b
