npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
f4() { head -c $((4 * $2)) /dev/zero | npy "$1" '<f4' "$3"; }
attend() { attn-cli attend --npz never.npz "$@"; echo $?; }
f4 t6e4.npy 24 '(6, 4)'
f4 t5e4.npy 20 '(5, 4)'
f4 t6e3.npy 18 '(6, 3)'
f4 h8.npy 48 '(8, 3, 2)'
f4 h3.npy 18 '(3, 3, 2)'
f4 h4.npy 24 '(4, 3, 2)'
f4 b2.npy 24 '(2, 1, 6, 2)'
f4 b3.npy 36 '(3, 1, 6, 2)'
attend --q t6e4.npy --k t6e3.npy --v t6e4.npy
attend --q t6e4.npy --k t6e4.npy --v t5e4.npy
attend --q h8.npy --k h3.npy --v h3.npy
attend --q h8.npy --k h4.npy --v h8.npy
attend --q h8.npy --k t6e4.npy --v t6e4.npy
attend --q b2.npy --k b3.npy --v b2.npy
attend --q b2.npy --k b2.npy --v b3.npy
attend --scores t6e4.npy --v t6e4.npy
attend --scores t6e4.npy --v h8.npy
f4 t5.npy 5 '(5,)'
attend --x t5.npy
f4 deep.npy 1 '(1, 1, 1, 1, 1)'
attend --x deep.npy
f4 number.npy 1 '()'
attend --scores number.npy
f4 none.npy 0 '(6, 0)'
attend --x none.npy
[ ! -e never.npz ]
