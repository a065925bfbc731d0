attn-cli tokenize -m life-is-short -f missing.txt
