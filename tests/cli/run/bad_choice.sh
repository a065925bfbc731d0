attn-cli run --load mmap "Life"
