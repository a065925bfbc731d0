echo '{"dog": 0, "cat": 1}' >animals.json
attn-cli tokenize --vocab animals.json "cat dog"
