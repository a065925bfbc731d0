attn-cli run -m "$MODELS/tiny-gpt2" --sites pattern,z,v --heads 1.2 --queries -1 --precision 4 --ablate 0.1 -q --json - $'keys = "\xf0\x9f\x98\x80"\n'
