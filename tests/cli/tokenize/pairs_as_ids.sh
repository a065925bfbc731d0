attn-cli tokenize --pairs --format ids "Life is"
