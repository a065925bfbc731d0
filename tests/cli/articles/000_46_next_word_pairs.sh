# Life -> is, Life is -> short, ...: five pairs, spelt "desert" there
attn-cli init model --vocab-from "Life is short eat desert first" --set d_model=3 --draw embed=randn
attn-cli tokenize -m model --pairs "Life is short eat desert first"
