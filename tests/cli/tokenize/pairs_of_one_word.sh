attn-cli tokenize -m life-is-short --pairs Life
