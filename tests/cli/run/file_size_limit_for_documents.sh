# The limit is in units of 1024 bytes; what is larger does not appear.
ulimit -f 1
for output in --tidy --json --npy; do
    attn-cli run -m "$MODELS/tiny-gpt2" --sites 'pattern,logits' $output out "The keys are here"
    echo $?
    ls -A . out 2>&1 | grep -E '^\.attn|^out$|logits'
done
