attn-cli tokenize --decode "0 x"
