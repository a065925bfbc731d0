attn-cli init a b --set d_model=4
