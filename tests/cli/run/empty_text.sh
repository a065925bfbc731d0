attn-cli run "" --npz all.npz
code=$?
ls -A
exit $code
