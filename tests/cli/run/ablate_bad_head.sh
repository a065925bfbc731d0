attn-cli run -m life-is-short --ablate 0.7 "Life is short"
