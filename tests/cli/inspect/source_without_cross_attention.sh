attn-cli inspect --source-length 4 tiny-gpt2
