printf 'Life \xff' | attn-cli tokenize --invalid bytes -
