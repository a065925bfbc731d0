# The commands of models/README.md make what is shipped.
sed -n '/^```sh$/,/^```$/p' "$MODELS/README.md" | sed '/^```/d' >commands
. ./commands
for made in */; do
    model=${made%/}
    ls "$model"
    for file in config.json vocab.json model.safetensors; do
        # A PyTorch with AVX2 made this one: its numbers are others behind the sixth digit.
        [ "$model/$file" = life-is-short/model.safetensors ] || cmp "$model/$file" "$MODELS/$model/$file"
    done
done
number=0
for model in "$MODELS/life-is-short" life-is-short; do
    attn-cli run -m "$model" --sites embed,q,k,v,pattern,z --precision 5 --csv "csv$((number += 1))" \
        "Life is short, eat dessert first"
done
diff -r csv1 csv2 && ls csv1
