attn-cli run --tidy - --sites z "Life is"
