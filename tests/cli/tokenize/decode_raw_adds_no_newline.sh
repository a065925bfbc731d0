attn-cli tokenize -m life-is-short --raw --decode "0 4"
