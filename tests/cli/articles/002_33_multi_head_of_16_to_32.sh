# (2, 5, 16) -> (2, 5, 32), four heads of 8: the two texts of the batch are ten words here
for text in "x1 x2 x3 x4 x5" "x6 x7 x8 x9 x10"; do
    attn-cli run -m "$FIXTURES/golden-002-multi-head" --sites z,attn_out --npy . "$text"
    for site in attn.hook_z hook_attn_out; do
        head -c 128 blocks.0.$site.npy | grep -ao "'shape': ([^)]*)"
    done
done
