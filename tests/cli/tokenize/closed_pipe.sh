# A megabyte of tokens, of which nobody reads more than one line.
head -c 1000000 /dev/zero | tr '\0' a | sed 's/a/a /g' >text
set -o pipefail
attn-cli tokenize -m "$MODELS/tiny-gpt2" -f text | head -n 1
