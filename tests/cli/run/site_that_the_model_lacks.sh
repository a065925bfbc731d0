attn-cli run -m life-is-short --sites pattern,logits "Life is short"
