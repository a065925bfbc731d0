attn-cli run --id 7 --csv out "Life is"
