attn-cli tokenize --pairs --decode "0 4"
