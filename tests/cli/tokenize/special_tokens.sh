attn-cli tokenize -m "$MODELS/tiny-gpt2" 'a<|endoftext|>'
echo text
attn-cli tokenize -m "$MODELS/tiny-gpt2" --special text 'a<|endoftext|>'
