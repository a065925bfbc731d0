attn-cli run -m life-is-short --algorithm blockwise --compare "Life is short, eat dessert first" | sed "/^seconds/d"
