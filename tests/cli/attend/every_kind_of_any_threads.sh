# Threads and instruction sets change no bit, whatever is computed.
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
attn-cli run -m "$FIXTURES/gpt2-long" --ids "$(for i in {0..69}; do echo $((i * 7 % 31)); done)" --sites q --npy seed
for i in 1 2; do tail -c 2800 seed/blocks.0.attn.hook_q.npy; done | head -c 4480 | npy x.npy "<f4" "(2, 70, 8)"
attend() { attn-cli attend -q --x x.npy --sites '*' "$@"; }
for kind in full window:9 strided:7 log random:9:3 block:16 hybrid:5:11 linear lowrank:6; do
    attend -t 1 --attention $kind --npz expected.npz
    attend -t 3 --attention $kind --npz seen.npz && cmp expected.npz seen.npz
    ATTN_CLI_ISA=baseline attend --attention $kind --npz seen.npz && cmp expected.npz seen.npz
done
attend --npz expected.npz --mask causal --masking zero
attend --npz seen.npz --mask causal --masking zero -t 2 && cmp expected.npz seen.npz
