attn-cli tokenize -f missing.txt
