attn-cli run -m life-is-short --tidy - --sites z "Life is"
