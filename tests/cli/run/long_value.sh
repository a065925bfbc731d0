attn-cli run --threads "$(printf '%2000s' | tr ' ' 9)" "Life is short"
