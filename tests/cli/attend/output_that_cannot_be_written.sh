x=$FIXTURES/../golden/attend/003_simplified/x.npy
attn-cli attend --x "$x" --npz no/such/folder.npz; echo $?
attn-cli attend --x "$x" >/dev/full; echo $?
attn-cli attend --x "$x" | head -n 1
