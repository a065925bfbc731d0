attn-cli tokenize ""
attn-cli tokenize --format ids ""
