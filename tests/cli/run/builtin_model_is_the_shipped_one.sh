text="Life is short, eat dessert first"
sites='*'
attn-cli run --sites "$sites" "$text" | tail -n +2 >builtin
attn-cli run --sites "$sites" -m "$MODELS/life-is-short" "$text" | tail -n +2 | cmp builtin -
