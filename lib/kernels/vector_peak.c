/*
 * vector_peak.c - as many multiply-adds as this instruction set can do, on registers alone: what
 * products are measured against.
 */
#include "kernels/vector.h"

#if defined __AVX512F__
enum { N_CHAIN = 24 }; /* of 32 registers; each fma takes 4 cycles, and 2 begin in each */
#else
enum { N_CHAIN = 12 }; /* of 16 */
#endif

double ATTN_FOR_ISA(attn_vector_spin)(size_t n_round)
{
    const vf x = v_splat(0.5F), y = v_splat(0.25F);
    vf sum[N_CHAIN];
    volatile float seen;

    for (int i = 0; i < N_CHAIN; i++)
        sum[i] = v_splat((float)i);
    for (size_t round = 0; round < n_round; round++)
#pragma GCC unroll 24
        for (int i = 0; i < N_CHAIN; i++)
            sum[i] = v_fma(sum[i], x, y);
    for (int i = 1; i < N_CHAIN; i++)
        sum[0] = sum[0] + sum[i];
    seen = sum[0][0];
    (void)seen;
    return (double)n_round * N_CHAIN * LANES;
}
