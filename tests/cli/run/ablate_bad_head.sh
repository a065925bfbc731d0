attn-cli run --ablate 0.7 "Life is short"
