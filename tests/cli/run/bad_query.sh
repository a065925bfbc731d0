attn-cli run -m life-is-short --queries 0-6 "Life is short"
