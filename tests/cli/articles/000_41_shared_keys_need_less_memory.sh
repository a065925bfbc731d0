# grouped-query attention: 32 heads of 128 share 8 key/value heads; also of plain and multi-query heads
attn-cli init model --vocab-from "a b" --set d_model=64 --set n_head=32 --set n_kv_head=8 --set d_head=128 --draw embed=randn
attn-cli inspect --length 4096 model | grep -A 2 "keys and values"
