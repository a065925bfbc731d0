# the second word sees the first and the third, the third sees nothing
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
printf '\1\0\0\1\0\1\0\0\0' | npy mask.npy '|b1' '(3, 3)'
for query in 1 2; do
    attn-cli run -m "$MODELS/life-is-short" --mask mask.npy --queries $query --explain "Life is short"
done
