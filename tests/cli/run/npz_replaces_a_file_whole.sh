echo old >all.npz
attn-cli run -m life-is-short --npz all.npz "Life is"
head -c 2 all.npz
cp all.npz before
attn-cli run -m life-is-short --npz all.npz "Life is unknown" 2>/dev/null
cmp all.npz before && ls -A
