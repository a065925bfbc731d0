attn-cli run "Life is short" --npz all.npz <&- >&- 2>&-
echo "$?"
attn-cli run "Life is short" >&-
echo "$?"
ls -A
