attn-cli run -m life-is-short --tidy - --id $'\e[31mred\n' --queries 0 "Life is short, eat dessert first"
