# Descriptor 5 is a pipe that nobody reads: no message, exit 0, and other outputs are complete.
mkfifo pipe
exec 4<>pipe 5>pipe 4<&-
attn-cli run -m life-is-short "Life is short" >&5
echo "$?"
attn-cli run -m life-is-short "Life is short" --csv - --sites pattern --npz with.npz >&5
echo "$?"
attn-cli run -m life-is-short "Life is short" --sites pattern --npz without.npz
cmp with.npz without.npz && ls
attn-cli run --help >&5
echo "$?"
