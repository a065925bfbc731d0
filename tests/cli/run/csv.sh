attn-cli run -m life-is-short --csv out "Life is short, eat dessert first"
cd out
for file in *; do
    echo "$file"
    cat "$file"
done
