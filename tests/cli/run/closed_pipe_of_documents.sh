# Descriptor 5 is a pipe that nobody reads.
mkfifo pipe
exec 4<>pipe 5>pipe 4<&-
for output in --tidy --json --npz; do
    attn-cli run -m life-is-short $output - "Life is short" >&5
    echo $?
done
attn-cli run -m life-is-short --json - --tidy with.csv "Life is short" >&5
attn-cli run -m life-is-short --tidy without.csv "Life is short"
cmp with.csv without.csv
