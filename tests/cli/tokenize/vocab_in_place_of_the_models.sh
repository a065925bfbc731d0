echo '{"dog": 0, "cat": 1}' >animals.json
attn-cli tokenize -m life-is-short --vocab animals.json "cat dog"
