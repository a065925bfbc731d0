npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" && printf "$2"; } >"$1"; }
npy nan.npy '\0\0\x80\x3f\0\0\0\0\0\0\xc0\x7f\0\0\xc0\x7f'
npy one.npy '\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f'
attn-cli attend --q nan.npy --k one.npy --v one.npy
attn-cli attend -q --q nan.npy --k one.npy --v one.npy --json - | tail -n 20
# Minus infinity in scores is no NaN: it is how masks are written.
npy scores.npy '\0\0\x80\x3f\0\0\x80\xff\0\0\x80\x3f\0\0\x80\x3f'
attn-cli attend --scores scores.npy
