data=$FIXTURES/../golden/attend/002_mask4
attend() { attn-cli attend --scores "$data/scores.npy" "$@"; echo $?; }
attend --attention linear
attend --attention lowrank:2
attend --attention window:0
attend --similarity cosine
attend --scale off
attn-cli attend --x "$data/scores.npy" --attention lowrank:2 --mask causal; echo $?
attend --dropout 1
attend --sites pattern_dropped
