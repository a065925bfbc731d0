attn-cli bench -m tiny-gpt2 --parts speed
