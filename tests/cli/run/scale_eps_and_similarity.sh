run() { echo "$@"; attn-cli run -m life-is-short "Life is short" --heads 0 --queries -1 --sites attn_scores,pattern "$@" | grep short | tail -2; }
run --scale on
run --scale off
run --eps 1
run --similarity cosine
run --similarity cosine --scale off
run --eps 0 --similarity dot --masking inf --mask causal --attention full --algorithm dense
run --algorithm blockwise
