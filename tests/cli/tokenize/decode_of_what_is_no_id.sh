attn-cli tokenize -m life-is-short --decode "0 x"
