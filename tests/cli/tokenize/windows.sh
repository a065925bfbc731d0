# The window of the article on causal attention: X is a b c d, Y is b c d e, with four predictions.
printf '{"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}' >vocab
attn-cli tokenize -m life-is-short --vocab vocab --window 4 "a b c d e"
