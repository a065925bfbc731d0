# Off unless asked for; the same seed drops the same weights, of which the others are doubled.
run() { attn-cli run -m life-is-short "Life is short, eat dessert" --dropout 0.5 "$@"; }
run --sites pattern,pattern_dropped,z | tail -n +8
run --csv - --sites pattern_dropped >default
run --csv - --sites pattern_dropped --seed 0 | cmp - default
run --csv - --sites pattern_dropped --seed 1 | cmp -s - default || echo another seed, other weights
attn-cli run -m life-is-short "Life is short, eat dessert" --dropout 0 --sites z --csv - >none
attn-cli run -m life-is-short "Life is short, eat dessert" --sites z --csv - | cmp - none
