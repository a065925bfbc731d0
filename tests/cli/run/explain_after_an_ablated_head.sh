# what is ablated below changes x, and the page still adds up
attn-cli run -q -m "$MODELS/tiny-gpt2" --heads 1.0 --queries 1 --ablate '0.*' --explain "The keys are" | sed -n 3p
attn-cli run -m "$MODELS/tiny-gpt2" --heads 1.0 --queries 1 --explain "The keys are" | sed -n 3p
