# One head is enough: the query is the last one unless --queries says another.
attn-cli run -m "$MODELS/tiny-gpt2" --heads 2.2 --explain "The keys are" | sed -n 1p
attn-cli run -m "$MODELS/tiny-gpt2" --heads 2.2 --explain "The keys are" >default
attn-cli run -m "$MODELS/tiny-gpt2" --heads 2.2 --queries -1 --explain "The keys are" | cmp - default
attn-cli run -m "$MODELS/tiny-gpt2" --heads 2.2 --queries 1 --explain "The keys are" | sed -n 1p
