attn-cli run -m life-is-short --ablate-pattern '0.*' --sites pattern,z "Life is"
