# The last query is the last key; more queries than keys have no place to stand.
data=$FIXTURES/../golden/attend/000_cross_attention
attn-cli attend --q "$data/q.npy" --k "$data/k.npy" --v "$data/v.npy" --mask causal --sites pattern
attn-cli attend --q "$data/k.npy" --k "$data/q.npy" --v "$data/q.npy" --mask causal
