attn-cli run -m "$MODELS/tiny-gpt2" --sites 'pattern,resid_post,embed,logits' --heads 0,2 --csv out "The keys"
ls out
