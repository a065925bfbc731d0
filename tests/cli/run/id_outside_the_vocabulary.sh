attn-cli run --ids 0,6 --npz all.npz
code=$?
ls -A
exit $code
