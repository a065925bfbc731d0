attn-cli init toy --set d_model=4 --split char --vocab-from "to be"
cat toy/config.json
attn-cli tokenize -m toy "be o"
attn-cli tokenize -m toy --decode "2 3 0 4"
attn-cli inspect toy | grep kind
attn-cli inspect --json toy | grep '"kind"'
