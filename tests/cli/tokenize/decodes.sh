attn-cli tokenize -m life-is-short --decode "0 4 5 2 1 3"
attn-cli tokenize -m life-is-short --decode 0,4,5
text='Olá, "world" 🦉 #1 \ <|endoftext|>'
ids=$(attn-cli tokenize -m "$MODELS/tiny-gpt2" --format ids "$text")
attn-cli tokenize -m "$MODELS/tiny-gpt2" --decode "$ids"
