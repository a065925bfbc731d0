mkdir folder
attn-cli tokenize -f folder
