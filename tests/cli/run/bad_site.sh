attn-cli run --sites patern "Life is short"
