attn-cli init toy --set d_model=4 --drop ,. --vocab-from "To be, or not to be. É 爱"
cat toy/config.json toy/vocab.json
attn-cli tokenize -m toy "be. or, 爱"
