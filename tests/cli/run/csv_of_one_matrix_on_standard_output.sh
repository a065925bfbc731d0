attn-cli run --csv - --sites pattern "Life is short"
