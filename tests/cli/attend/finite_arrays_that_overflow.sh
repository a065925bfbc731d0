# Products of finite numbers that float32 does not hold: the softmax of +infinity is NaN.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }" && printf "$2"; } >"$1"; }
npy large.npy '\x99\x76\x61\x7f\0\0\x80\x3f'
npy one.npy '\0\0\x80\x3f\0\0\x80\x3f'
attn-cli attend --q large.npy --k large.npy --v one.npy
attn-cli attend -q --q large.npy --k large.npy --v one.npy --sites qk
attn-cli attend --q large.npy --k one.npy --v one.npy --sites pattern
# Not where the arrays hold infinity themselves.
npy infinite.npy '\0\0\x80\x7f\0\0\x80\x3f'
attn-cli attend --q infinite.npy --k one.npy --v one.npy --sites pattern
