commands=$(attn-cli --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for command in '' $commands; do
    attn-cli help $command | awk 'length > 80'
done
