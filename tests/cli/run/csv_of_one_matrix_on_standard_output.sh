attn-cli run -m life-is-short --csv - --sites pattern "Life is short"
