attn-cli init toy --set d_model=4 --set n_vocab=3
ls toy
attn-cli run -m toy --ids 0,2 --sites pattern
