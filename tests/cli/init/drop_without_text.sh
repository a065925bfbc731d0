attn-cli init toy --set d_model=4 --set n_vocab=4 --drop ,
