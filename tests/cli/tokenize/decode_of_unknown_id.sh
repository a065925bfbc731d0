attn-cli tokenize --decode "0 6"
