LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 attn-cli run -m life-is-short --csv - --sites pattern "Life is"
