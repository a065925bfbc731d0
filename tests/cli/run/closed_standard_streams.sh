attn-cli run -m life-is-short "Life is short" --npz all.npz <&- >&- 2>&-
echo "$?"
attn-cli run -m life-is-short "Life is short" >&-
echo "$?"
ls -A
