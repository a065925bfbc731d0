printf "a \377" >text
attn-cli init toy --set d_model=4 --vocab-from-file text
