echo "{" >config
attn-cli init toy --config config --vocab-from a
