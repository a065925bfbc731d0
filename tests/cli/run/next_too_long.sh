attn-cli run -m "$MODELS/tiny-gpt2" --ids 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 --next 'abc xyz'
