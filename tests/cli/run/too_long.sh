attn-cli run -m "$MODELS/tiny-gpt2" --npz all.npz --ids "$(seq -s, 0 17)"
code=$?
ls -A
exit $code
