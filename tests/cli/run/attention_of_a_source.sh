# Layers with cross-attention: nothing is causal there, and a mask is for pairs with the source.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
run() { attn-cli run -m cross-attention "Life is short" --sites "${sites-pattern}" "$@" | tail -n +6; echo "${PIPESTATUS[0]}"; }
run --source "eat dessert first is"
run --source "eat dessert first is" --attention window:2
sites=pattern_lowrank run --source "eat dessert first is" --attention lowrank:2
printf '\1\0\1\0\0\0\0\0\1\1\1\1' | npy mask.npy '|b1' '(3, 4)'
run --source "eat dessert first is" --mask mask.npy
run --source "eat dessert" --mask mask.npy
run --source "eat dessert" --mask causal
