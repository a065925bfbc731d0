attn-cli run -m life-is-short --attention block:2 --compare --csv - "Life is short, eat dessert first"
