# Descriptor 5 is a pipe that nobody reads: no message, exit 0.
mkfifo pipe
exec 4<>pipe 5>pipe 4<&-
attn-cli inspect "$MODELS/tiny-gpt2" >&5
