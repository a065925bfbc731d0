attn-cli run -m life-is-short --source "first" "Life is short"
