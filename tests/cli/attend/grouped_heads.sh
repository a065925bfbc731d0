# Four query heads over two key/value heads are the same as over each of them twice.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
data=$FIXTURES/../golden/attend/004_simple_attention
tail -c 256 "$data/q.npy" | npy q.npy '<f4' '(4, 2, 8)'
tail -c 256 "$data/k.npy" >k && tail -c 256 "$data/v.npy" >v
npy k.npy '<f4' '(2, 4, 8)' <k
npy v.npy '<f4' '(2, 4, 8)' <v
for name in k v; do
    for half in "head -c 128" "tail -c 128"; do $half $name; $half $name; done | npy $name$name.npy '<f4' '(4, 4, 8)'
done
attn-cli attend --q q.npy --k k.npy --v v.npy --npz grouped.npz
attn-cli attend --q q.npy --k kk.npy --v vv.npy --npz repeated.npz
cmp grouped.npz repeated.npz && attn-cli attend --q q.npy --k k.npy --v v.npy --heads 3 --sites z
