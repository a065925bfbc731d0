# Two batches of two heads: named by both; a head is chosen in every batch.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
tail -c 128 "$FIXTURES/../golden/attend/004_simple_attention/q.npy" | npy x.npy '<f4' '(2, 2, 4, 2)'
attn-cli attend --x x.npy --csv all
ls all
attn-cli attend --x x.npy --csv one --heads 1
ls one
diff -r all one
attn-cli attend --x x.npy --npy arrays --heads 1
head -n 1 arrays/pattern.npy | tr -d '\0' | cut -c 9-
attn-cli attend --x x.npy --heads 1 --sites z --json -
attn-cli attend --x x.npy --heads 2
