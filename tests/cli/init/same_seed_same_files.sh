for name in one two; do
    attn-cli init $name --set d_model=4 --seed 5 --vocab-from "a b"
done
attn-cli init three --set d_model=4 --seed 6 --vocab-from "a b"
diff -r one two
cmp -s one/model.safetensors three/model.safetensors || echo another seed, other weights
