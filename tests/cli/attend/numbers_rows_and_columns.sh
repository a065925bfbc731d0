attn-cli run -m life-is-short --sites embed --npy life "Life is short, eat dessert first"
attn-cli attend --x life/hook_embed.npy
