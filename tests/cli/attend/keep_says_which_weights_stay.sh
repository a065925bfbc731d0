# A mask of 0 and 1 in place of dropout's own draw: what stays is divided by 1-P, and nothing when P is 0.
data=$FIXTURES/../golden/attend/004_simple_attention
mask=$data""_padding/mask.npy
attend() { attn-cli attend --q "$data/q.npy" --k "$data/k.npy" --v "$data/v.npy" --heads 1 "$@"; }
attend --keep "$mask" --dropout 0.5 --sites 'pattern*,z'
attend --keep "$mask" --dropout 0 --sites pattern_dropped
attend --keep "$mask"; echo $?
attend --keep "$data/q.npy" --dropout 0.5; echo $?
attend --keep "$data/../000_cross_attention/qk.npy" --dropout 0.5; echo $?
attend --keep "$mask" --dropout 0.5 --seed 1; echo $?
