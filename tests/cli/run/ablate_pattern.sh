attn-cli run --ablate-pattern '0.*' --sites pattern,z "Life is"
