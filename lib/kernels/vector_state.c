/*
 * vector_state.c - a matrix that grows by outer products, and is read by rows: the state of linear
 * attention.
 *
 * Every element is its own chain of fma, in the order of the calls or of the rows, so how elements
 * are grouped into registers is free.
 */
#include "kernels/vector.h"

void ATTN_FOR_ISA(attn_vector_add_outer)(const float *a, size_t n_a, const float *b, size_t n_b,
                                         float *s)
{
    for (size_t i = 0; i < n_a; i++, s += n_b) {
        const vf factor = v_splat(a[i]);

        for (size_t j = 0; j < n_b; j += LANES)
            v_store_some(s + j,
                         v_fma(factor, v_load_some(b + j, n_b - j), v_load_some(s + j, n_b - j)),
                         n_b - j);
    }
}

/* Chains that run side by side: one alone would wait for each of its fma. */
enum { ABREAST = 4 };

void ATTN_FOR_ISA(attn_vector_multiply_row)(const float *x, size_t n_row, const float *s,
                                            size_t n_col, float *y)
{
    size_t j = 0;

    for (; n_col - j >= (size_t)ABREAST * LANES; j += (size_t)ABREAST * LANES) {
        vf sum[ABREAST] = {{0}};

        for (size_t i = 0; i < n_row; i++)
#pragma GCC unroll 4
            for (size_t r = 0; r < ABREAST; r++)
                sum[r] = v_fma(v_splat(x[i]), v_load(s + i * n_col + j + r * LANES), sum[r]);
        for (size_t r = 0; r < ABREAST; r++)
            v_store(y + j + r * LANES, sum[r]);
    }
    for (; j < n_col; j += LANES) {
        const size_t left = n_col - j;
        vf sum = {0};

        for (size_t i = 0; i < n_row; i++)
            sum = v_fma(v_splat(x[i]), v_load_some(s + i * n_col + j, left), sum);
        v_store_some(y + j, sum, left);
    }
}
