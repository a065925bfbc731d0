golden="$FIXTURES/../golden/004_simple_attention"
attn-cli attend --x "$golden/q.npy" --queries 1 --explain
