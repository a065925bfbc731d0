attn-cli init toy --set model_type=gpt2 --set n_embd=8 --set n_head=2 --set n_layer=2 --set n_positions=6 \
    --vocab-from "a b c"
cat toy/config.json
attn-cli inspect toy --check | tail -n 1
attn-cli run -m toy --top 1 "a b" >out && tail -n 1 out | cut -f 3
