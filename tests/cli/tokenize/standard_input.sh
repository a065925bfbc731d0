echo "Life is" | attn-cli tokenize -m life-is-short -
echo "Life is" | attn-cli tokenize -m life-is-short -f -
attn-cli tokenize -m life-is-short -p "Life is" || echo "$?"
