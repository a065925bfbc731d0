attn-cli run -m life-is-short --sites patern "Life is short"
