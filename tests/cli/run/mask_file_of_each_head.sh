npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
printf '\1\0\1\1\1\1\0\1\1\0\0\1\0\0\1\0' | npy heads.npy '|u1' '(4, 2, 2)'
attn-cli run -m four-heads "Life is" --mask heads.npy --attention log --sites pattern
