# [a,b,c,d,e] and a window of 4: input a b c d, target b c d e; "output" in the article's list is the input
attn-cli init model --vocab-from "a b c d e" --set d_model=2 --draw embed=randn
attn-cli tokenize -m model --window 4 "a b c d e"
