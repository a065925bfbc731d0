golden="$FIXTURES/../golden/004_simple_attention"
attn-cli attend --q "$golden/q.npy" --k "$golden/k.npy" --v "$golden/v.npy" --heads 1 --queries 2 --explain
