attn-cli tokenize --pairs Life
