cp -r "$MODELS/life-is-short" model
mv model/vocab.json model/tokenizer.json
attn-cli inspect model | sed -n '/^Tokenizer/,/^$/p'
