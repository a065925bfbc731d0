# Fewer queries than keys, masks of each head, weights that are kept: the steps come to what was computed.
golden="$FIXTURES/../golden/004_simple_attention"
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
tail -c 64 "$golden/q.npy" | npy q.npy '<f8' '(2, 1, 4)'
tail -c 256 "$golden/k.npy" | npy k.npy '<f8' '(2, 4, 4)'
printf '\1\0\1\1\0\1\1\1' | npy keep.npy '|u1' '(2, 1, 4)'
for options in "--mask causal" "--mask causal --masking zero" "--attention window:2 --mask causal" "--similarity cosine" \
    "--dropout 0.5 --keep keep.npy" "--eps 1 --scale on" "--algorithm blockwise"; do
    attn-cli attend -q --q q.npy --k k.npy --v k.npy $options --heads 1 --explain >page || echo "status $?"
    echo "$options: $(sed -n 4p page)"
    tail -n 1 page
done
