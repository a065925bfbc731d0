npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
head -c 128 /dev/zero | npy x.npy '<f4' '(2, 2, 4, 2)'
bits() { printf "$(sed 's/[01]/\\&/g' <<<"$1")"; }
all=1111111111111111 first=1000100010001000 last=0001000100010001 self=1000010000100001
bits $first | npy all.npy '|b1' '(4, 4)'
bits $first$last | npy heads.npy '|b1' '(2, 4, 4)'
bits $first$last$self$all | npy batches.npy '|b1' '(2, 2, 4, 4)'
for mask in all heads batches; do
    attn-cli attend --x x.npy --sites pattern --queries 0 --mask $mask.npy
done
bits $all | npy flat.npy '|b1' '(2, 8)'
attn-cli attend --x x.npy --mask flat.npy
