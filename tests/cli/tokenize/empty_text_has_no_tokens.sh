attn-cli tokenize -m life-is-short ""
attn-cli tokenize -m life-is-short --format ids ""
