attn-cli run -m life-is-short --ablate 0 "Life is short"
