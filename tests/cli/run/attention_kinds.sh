# What each kind keeps of a causal pattern: one head of one layer, all rows.
for kind in full window:3 strided:2 strided log random:3 random:3:1 block:3 hybrid:2:3 linear linear:relu linear:exp:raw; do
    echo "$kind"
    attn-cli run -m tiny-gpt2 --ids 1,2,3,4,5,6,7,8,9,10 --layers 1 --heads 0 --attention "$kind" --sites pattern | tail -n +13
done 2>&1
