printf 'a\tb\nc\\ \x1b[1m \xc3\xa9 \xe2\x80\xae' | attn-cli tokenize -m "$MODELS/tiny-gpt2" -
