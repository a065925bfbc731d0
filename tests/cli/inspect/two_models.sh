attn-cli inspect -m life-is-short tiny-gpt2
