export ATTN_CLI_MODEL_PATH=/nowhere:$MODELS
attn-cli run -m tiny-gpt2 --top 2 "The keys"
attn-cli run -m life-is-short --layers 0 "Life is" >/dev/null
