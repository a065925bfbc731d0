attn-cli run -m life-is-short "Life is" -q --attention hybrid:1:2 --mask causal --scale on --eps=1e-6 --json - | grep options
attn-cli run -m life-is-short "Life is" --dropout 0.1 --seed 07 --json - | grep options
