# The pairs that the article on self-attention prints, spelt as there.
printf '{"Life": 0, "desert": 1, "eat": 2, "first": 3, "is": 4, "short": 5}' >vocab
attn-cli tokenize -m life-is-short --vocab vocab --pairs "Life is short, eat desert first"
