attn-cli run "Life" --csv
