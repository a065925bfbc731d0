# A million predictions, of which nobody reads more than two lines.
head -c 2000 /dev/zero | tr '\0' a | sed 's/a/a /g' >text
set -o pipefail
attn-cli tokenize -m "$MODELS/tiny-gpt2" --window 1000 -f text | head -n 3 | cut -c 1-20
