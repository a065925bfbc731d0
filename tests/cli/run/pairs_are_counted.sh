# Of 16 tokens: causal 136 pairs a head, without a mask 256.
run() { attn-cli run -m tiny-gpt2 --ids "$(seq -s, 1 16)" --layers 0 --heads 0 --queries 0 --sites z --attention "$@" >out; }
for kind in full window:4 strided log random:4 block:4 hybrid:2:4 linear; do
    run $kind
    run $kind --mask none
done
run lowrank:4 --mask none
run window:4 -q
