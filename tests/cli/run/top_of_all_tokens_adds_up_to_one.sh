attn-cli run -m "$MODELS/tiny-gpt2" --top 1000000 "The keys are" | awk '{ sum += $1 } END { printf "%d tokens, %.3f\n", NR, sum }'
