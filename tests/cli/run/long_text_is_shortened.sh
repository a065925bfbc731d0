ids=$(for i in {0..59}; do echo $((i * 7 % 31)); done)
attn-cli run -m "$FIXTURES/gpt2-long" --layers 0 --heads 0 --ids "$ids"
