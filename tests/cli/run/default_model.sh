text="Life is short, eat dessert first"
attn-cli run --sentence "$text" --json - | grep '"model"'
attn-cli run --sentence "$text" | cmp - <(attn-cli run -m fable --sentence "$text")
