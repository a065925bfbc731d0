npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': $2, }" && cat; } >"$1"; }
data() { tail -c 128 "$FIXTURES/../golden/attend/004_simple_attention/q.npy"; }
data | npy heads.npy '(4, 4, 2)'
attn-cli attend --x heads.npy --attention window:2 --mask causal --compare | sed '/^seconds/d'
attn-cli attend --x heads.npy --attention linear --heads 1,2 --queries -1 --compare --json - | sed -E '/seconds/d'
data | npy batches.npy '(2, 2, 4, 2)'
attn-cli attend --x batches.npy --attention block:2 --heads 1 --compare | sed '/^seconds/d'
attn-cli attend --x batches.npy --attention block:2 --compare --csv found --precision 3
ls found
cat found/compare.csv
