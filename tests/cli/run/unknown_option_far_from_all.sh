attn-cli run --frobnicate=3 "Life"
