mkdir folder
attn-cli tokenize -m life-is-short -f folder
