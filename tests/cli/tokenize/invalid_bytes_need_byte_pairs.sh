printf 'Life \xff' | attn-cli tokenize -m life-is-short --invalid bytes -
