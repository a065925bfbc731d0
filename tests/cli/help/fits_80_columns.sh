for command in '' run tokenize help; do
    attn-cli help $command | awk 'length > 80'
done
