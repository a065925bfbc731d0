# A copy of the program, away from all folders of models, says what the program says that finds them.
cp "$(command -v attn-cli)" tool
text="Life is short, eat dessert first"
for model in $(env -i ./tool completion --models); do
    echo "$model"
    env -i ./tool run -m "$model" --sites '*' --json - "$text" |
        cmp - <(attn-cli run -m "$model" --sites '*' --json - "$text")
    env -i ./tool tokenize -m "$model" "$text" | cmp - <(attn-cli tokenize -m "$model" "$text")
    env -i ./tool inspect --json "$model" | cmp - <(attn-cli inspect --json "$model")
done
env -i ./tool run -m tiny-gpt2 "$text"
