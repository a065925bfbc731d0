# The same four numbers, 1 2 3 0.5, in every way.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$1', 'fortran_order': $2, 'shape': (2, 2), }" && printf "$3"; } >x.npy; }
attend() { attn-cli attend --x x.npy --csv - --sites z; }
npy '<f2' False '\0\x3c\0\x40\0\x42\0\x38' && attend
npy '>f2' True '\x3c\0\x42\0\x40\0\x38\0' && attend
npy '>f4' False '\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\x3f\0\0\0' && attend
npy '<f8' True '\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\x08\x40\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\xe0\x3f' && attend
