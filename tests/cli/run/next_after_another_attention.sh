# What is fed after the text: the attention must be able to go on. A stride is that of the text.
run() { attn-cli run -m tiny-gpt2 "The keys are on" --next ' the table' "$@"; echo $?; }
run --attention window:3
run --attention strided
run --attention strided:3
run --attention random:3
run --attention linear
run --algorithm blockwise
run --mask none
run --mask none --attention lowrank:2
run --dropout 0.1
attn-cli run -m tiny-gpt2 "The keys" --mask none --next ' '
