attn-cli frobnicate
