attn-cli run --json - --tidy - "Life is"
