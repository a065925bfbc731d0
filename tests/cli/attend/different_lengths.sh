cd "$FIXTURES/../golden/attend/000_cross_attention" || exit
attn-cli attend --q q.npy --k k.npy --v v.npy --sites pattern,z
