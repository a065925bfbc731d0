attn-cli run -m life-is-short -q --ablate 0.0 --sites z --csv - "Life is short"
