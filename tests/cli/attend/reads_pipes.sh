x=$FIXTURES/../golden/attend/003_simplified/x.npy
attn-cli attend --x <(cat "$x") --npz piped.npz
attn-cli attend --x "$x" --npz read.npz && cmp piped.npz read.npz
