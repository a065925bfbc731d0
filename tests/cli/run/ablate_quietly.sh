attn-cli run -q --ablate 0.0 --sites z --csv - "Life is short"
