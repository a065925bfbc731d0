run() { attn-cli run -m tiny-gpt2 --ids 1,2,3 "$@"; echo $?; }
run --attention windo:3
run --attention window
run --attention window:0
run --attention strided:x
run --attention log:2
run --attention lowrank:4
run --attention log --masking zero
run --attention log --algorithm blockwise
run --algorithm blockwise --masking renormalize
run --algorithm blockwise --dropout 0.1
run --attention linear --dropout 0.1
run --attention linear --similarity cosine
run --attention linear --scale on
run --attention linear --eps 0.1
run --scale off --eps 0.1
run --dropout 1
run --dropout -0.5
run --dropout .5
run --dropout nan
run --eps -1
run --eps inf
run --seed 3
run --mask causla
run --masking left
