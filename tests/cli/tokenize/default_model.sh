text="Life is short, eat dessert first"
attn-cli tokenize --format ids "$text"
attn-cli tokenize "$text" | cmp - <(attn-cli tokenize -m fable "$text")
