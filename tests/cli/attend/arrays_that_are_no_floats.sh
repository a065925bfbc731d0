npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': (2, 2), }" && head -c "$3" /dev/zero; } >"$1"; }
attend() { attn-cli attend --x "$1"; echo $?; }
npy objects.npy '|O' 32 && attend objects.npy
npy complex.npy '<c8' 32 && attend complex.npy
npy integers.npy '<i4' 16 && attend integers.npy
npy booleans.npy '|b1' 4 && attend booleans.npy
npy cut.npy '<f8' 31 && attend cut.npy
npy long.npy '<f8' 33 && attend long.npy
echo 1,2 >text.npy && attend text.npy
attn-cli run -m life-is-short --npz archive.npz Life && attend archive.npz
attend .
attend missing.npy
