x=$FIXTURES/../golden/attend/003_simplified/x.npy
attn-cli attend --x "$x" --attention window:2 --mask causal --scale off --queries -1 --sites pattern --json - --precision 4
