attn-cli tokenize -m life-is-short --window 2 "Life is short eat dessert"
echo stride 2
attn-cli tokenize -m life-is-short --window 2 --stride 2 "Life is short eat dessert"
echo stride 9
attn-cli tokenize -m life-is-short --window 2 --stride 9 "Life is short eat dessert"
