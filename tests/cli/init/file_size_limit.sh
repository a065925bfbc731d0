# The weights do not fit, so nothing is left.
(ulimit -f 4; attn-cli init toy --set d_model=64 --vocab-from "a b")
code=$?
mkdir empty
(ulimit -f 4; attn-cli init empty --set d_model=64 --vocab-from "a b")
ls -A . empty
exit $code
