attn-cli run --queries 0-6 "Life is short"
