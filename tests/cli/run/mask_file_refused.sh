npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
run() { attn-cli run -m four-heads "Life is" --csv out --mask "$@"; echo $?; }
run absent.npy
printf '\1\0\1\1' | npy flat.npy '|u1' '(4,)'
run flat.npy
printf '\1\0\1\1\0\0' | npy wide.npy '|u1' '(2, 3)'
run wide.npy
printf '\1\0\1\1\1\0\1\1' | npy heads.npy '|u1' '(2, 2, 2)'
run heads.npy
printf '\1\0\1\1\1\0\1\1\1\0\1\1\1\0\1\1' | npy batch.npy '|u1' '(1, 4, 2, 2)'
run batch.npy
printf '\1\0\2\1' | npy two.npy '|u1' '(2, 2)'
run two.npy
printf '\0\0\x80\x3f\0\0\0\x3f\0\0\0\0\0\0\0\0' | npy half.npy '<f4' '(2, 2)'
run half.npy
printf '\1\0\1' | npy short.npy '|u1' '(2, 2)'
run short.npy
printf '\1\0\1\1' | npy good.npy '|u1' '(2, 2)'
run good.npy --attention lowrank:2
run good.npy --attention linear
[ ! -e out ]
