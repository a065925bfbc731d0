attn-cli run -m life-is-short --npz one.npz --csv out "Life is short, eat dessert first"
attn-cli run -m life-is-short --npz two.npz "Life is short, eat dessert first"
attn-cli run -m life-is-short --npz - "Life is short, eat dessert first" >three.npz
cmp one.npz two.npz
ls -A
head -c 2 one.npz
LC_ALL=C grep -aoE '(blocks\.0\.attn\.hook_[a-z]+|tokens|ids|queries|blocks\.0\.heads)\.npy' one.npz | sort -u
LC_ALL=C grep -aoE "'shape': \([0-9, ]*\)" one.npz
[ -s three.npz ]
