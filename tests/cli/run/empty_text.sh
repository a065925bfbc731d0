attn-cli run -m life-is-short "" --npz all.npz
code=$?
ls -A
exit $code
