attn-cli run -m life-is-short --npy out "Life is short, eat dessert first"
attn-cli run -m life-is-short --npy narrow --heads 0 --queries 1-2 --sites pattern "Life is short, eat dessert first"
for file in out/* narrow/*; do
    echo "$file $(($(wc -c <"$file"))) $(head -n 1 "$file" | tail -c +11 | tr -s ' ')"
done
