attn-cli tokenize --raw --decode "0 4"
