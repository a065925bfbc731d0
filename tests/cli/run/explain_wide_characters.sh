# Chinese words take two columns a character, and the numbers still stand under one another
attn-cli init words --vocab-from "我 爱 自然语言处理" --set d_model=2 --set n_ctx=3 --draw embed=randn@1 --draw qkv=rand@2
attn-cli run -m words --queries -1 --explain "我 爱 自然语言处理"
