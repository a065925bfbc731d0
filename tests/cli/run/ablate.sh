attn-cli run --ablate 0 "Life is short"
