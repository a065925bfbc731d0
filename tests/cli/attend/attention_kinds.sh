# Without a mask, causal, and where there are more keys than queries: these are the last ones then.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
head -c 256 /dev/zero | npy zeros.npy '<f4' '(8, 8)'
head -c 96 /dev/zero | npy q.npy '<f4' '(3, 8)'
run() { attn-cli attend --sites pattern "$@" 2>&1; }
for kind in window:2 strided log random:3 block:3 hybrid:1:3 linear; do
    run --x zeros.npy --attention $kind
    run --x zeros.npy --attention $kind --mask causal
    run --q q.npy --k zeros.npy --v zeros.npy --attention $kind --mask causal
done
attn-cli attend --sites pattern_lowrank --x zeros.npy --attention lowrank:2 2>&1
