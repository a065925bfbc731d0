# The limit is in units of 1024 bytes; the archive is larger.
ulimit -f 1
attn-cli run -m "$MODELS/tiny-gpt2" --sites '*' --npz all.npz "The keys are"
code=$?
ls -A
exit $code
