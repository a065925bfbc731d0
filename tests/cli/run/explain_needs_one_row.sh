attn-cli run -m "$FIXTURES/attn-grouped" --heads 0,1 --explain "the dog slept"
echo "exit $?"
# The hint keeps the head that was chosen, and then the query.
attn-cli run -m "$MODELS/tiny-gpt2" --heads 2.2 --queries 0-2 --explain "The keys are"
attn-cli run -m "$MODELS/tiny-gpt2" --heads 2.1-2 --queries 1 --explain "The keys are"
attn-cli run -m "$MODELS/tiny-gpt2" --layers 1 --heads 1,2 --queries 0,-1 --explain "The keys are"
