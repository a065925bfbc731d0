echo "Life is" | attn-cli tokenize -
echo "Life is" | attn-cli tokenize -f -
attn-cli tokenize -p "Life is" || echo "$?"
