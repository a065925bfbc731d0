export ATTN_CLI_MODEL=$MODELS/tiny-gpt2 ATTN_CLI_THREADS=1
attn-cli run --top 1 "The keys" | cmp - <(attn-cli run -t 2 -m "$MODELS/tiny-gpt2" --top 1 "The keys")
ATTN_CLI_THREADS=many attn-cli run "Life"
