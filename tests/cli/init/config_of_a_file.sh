printf '{"model_type" : "attn" ,"d_model":6,\n "blocks": ["self",\n "self"], "n_layer" : 2, "_note": {"a": [1, 2]}, "tokenizer": null}' >config
attn-cli init toy --config config --set n_layer=3 --set blocks=self,cross,self --set n_head=2 --vocab-from "a b"
cat toy/config.json
