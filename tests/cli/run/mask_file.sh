# npy FILE TYPE SHAPE < DATA
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
run() { attn-cli run -m life-is-short "Life is short" "$@" | tail -n +6; }
printf '\1\1\0\0\0\0\1\0\1' | npy bytes.npy '|b1' '(3, 3)'
run --mask bytes.npy
echo The same from other types:
printf '\1\0\1\0\0\0\0\0\0\0\0\0\1\0\0\0\1\0' | npy short.npy '<i2' '(3, 3)'
one='\0\0\x80\x3f' zero='\0\0\0\0'
printf "$one$one$zero$zero$zero$zero$one$zero$one" | npy float.npy '<f4' '(3, 3)'
run --mask bytes.npy >expected
for file in short float; do run --mask $file.npy | cmp - expected; done
echo A window of it, of which nothing is told:
run -q --mask bytes.npy --attention window:2 --sites pattern
