# Threads, instruction sets, ways to multiply and to load: the same bits in every tensor.
ids=$(for i in {0..69}; do echo $((i * 7 % 31)); done)
run() { attn-cli run -m "$FIXTURES/gpt2-long" --ids "$ids" --sites '*' "$@"; }
run -t 1 --npz expected.npz
for threads in 2 8; do
    run -t $threads --npz seen.npz && cmp expected.npz seen.npz
done
for isa in baseline avx2 avx512; do
    ATTN_CLI_ISA=$isa run --npz seen.npz && cmp expected.npz seen.npz
done
for gemm in auto jit portable; do
    ATTN_CLI_GEMM=$gemm run --npz seen.npz && cmp expected.npz seen.npz
done
run --load read --npz seen.npz && cmp expected.npz seen.npz
