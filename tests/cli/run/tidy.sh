attn-cli run -m life-is-short --tidy - --id 'run 7, twice' --queries 0,2 "Life is short, eat dessert first"
attn-cli run -m "$MODELS/tiny-gpt2" --tidy long.csv --heads 1.2 --precision 3 'a,"b"' && cat long.csv
