# [T, S] for all heads, [H, T, S] for all batches; a query that may look at nothing gets nothing.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
tail -c 128 "$FIXTURES/../golden/attend/004_simple_attention/q.npy" | npy x.npy '<f4' '(2, 2, 4, 2)'
printf '\1\0\0\0\0\0\0\0\1\1\1\0\1\1\1\1' | npy one.npy '|b1' '(4, 4)'
attn-cli attend --x x.npy --mask one.npy --heads 0 --sites pattern,z --precision 3 --csv out
cat out/B01H00.*
{ printf '\1\0\0\0\1\1\0\0\1\1\1\0\1\1\1\1' && printf '\1%.0s' {1..16}; } | npy heads.npy '|u1' '(2, 4, 4)'
attn-cli attend --x x.npy --mask heads.npy --npz mask.npz
attn-cli attend --x x.npy --mask causal --npz causal.npz --heads 0
attn-cli attend --x x.npy --mask heads.npy --npz head.npz --heads 0
cmp causal.npz head.npz
attn-cli attend --x x.npy --mask none --npz causal.npz --heads 1
attn-cli attend --x x.npy --mask heads.npy --npz head.npz --heads 1
cmp causal.npz head.npz
printf '\1\0\0\0\0\0\0\0\1\2\1\0\1\1\1\1' | npy two.npy '|u1' '(4, 4)'
attn-cli attend --x x.npy --mask two.npy; echo $?
attn-cli attend --x x.npy --mask x.npy; echo $?
attn-cli attend --x x.npy --mask missing.npy; echo $?
attn-cli attend --x x.npy --mask text; echo $?
