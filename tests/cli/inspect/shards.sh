attn-cli inspect "$FIXTURES/gpt2-sharded" | sed -n '/^Tensors/,/^Files/p' | sed -n '1,4p;/^Tokenizer/,$p'
attn-cli inspect "$FIXTURES/gpt2-sharded" | sed -n '/^Files/,/^$/p'
