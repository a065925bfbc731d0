attn-cli run -m life-is-short --ids 0,6 --npz all.npz
code=$?
ls -A
exit $code
