mkdir toy
touch toy/.hidden
attn-cli init toy --set d_model=4 --vocab-from "a b"
code=$?
ls -A toy
exit $code
