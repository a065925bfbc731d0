attn-cli run --sites pattern,logits "Life is short"
