# e^(-inf) is 0, not close to it; a row in which every score is -inf has weights of 0, and not NaN
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
printf '\1\0\0\0\0\0\1\1\0' | npy mask.npy '|u1' '(3, 3)'
attn-cli run -m "$MODELS/life-is-short" --mask mask.npy --sites pattern --npy . "Life is short"
tail -c 36 blocks.0.attn.hook_pattern.npy | od -An -tf4 -w12
attn-cli run -m "$MODELS/life-is-short" --mask mask.npy --sites z --queries 1 --csv - "Life is short"
