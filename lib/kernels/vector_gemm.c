/*
 * vector_gemm.c - the portable product, and the definition of what the JIT kernels must give.
 *
 * Every element is its own chain of fma over k, so how elements are grouped into registers is free:
 * blocks of rows by two registers of columns. Columns left over are computed again together with
 * their neighbours to the left, which gives those the same bits a second time; no masks, and
 * nothing outside the matrices is read.
 */
#include "kernels/vector.h"

#include <assert.h>

/* As many rows as the accumulators of two registers each leave room for. */
#if defined __AVX512F__
enum { MAX_ROWS = 12 };
#else
enum { MAX_ROWS = 6 };
#endif
enum { FEW_ROWS = 3, BLOCK = 2 * LANES };

/*
 * c[i, j] for i < ROWS and the LANES columns from each of two places, LEFT and RIGHT floats into a
 * row. ROWS is a constant where this is called; everything then stays in registers.
 */
static inline __attribute__((always_inline)) void
multiply_block(const struct attn_gemm_shape *s, const float *a, const float *b, float *c,
               size_t count, size_t rows, size_t left, size_t right)
{
    vf l[MAX_ROWS] = {0}, r[MAX_ROWS] = {0};

    for (size_t block = 0; block < count; block++, a += s->step_a, b += s->step_b)
        for (size_t k = 0; k < s->k; k++) {
            vf al = v_load(a + k * s->lda + left), ar = v_load(a + k * s->lda + right);

#pragma GCC unroll 12
            for (size_t i = 0; i < rows; i++) {
                vf x = v_splat(b[i * s->ldb + k]);

                l[i] = v_fma(x, al, l[i]);
                r[i] = v_fma(x, ar, r[i]);
            }
        }
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++) {
        v_store(c + i * s->ldc + left, l[i]);
        v_store(c + i * s->ldc + right, r[i]);
    }
}

void ATTN_FOR_ISA(attn_vector_gemm)(const struct attn_gemm_shape *s, const float *a, const float *b,
                                    float *c, size_t count)
{
    assert(s->m >= 17 && s->m <= 64 && s->n >= 1 && count >= 1);
    for (size_t j = 0; j < s->m; j += BLOCK) {
        size_t left = s->m < BLOCK ? 0 : j + BLOCK <= s->m ? j : s->m - BLOCK;
        size_t right = s->m < BLOCK ? s->m - LANES : left + LANES;
        size_t i = 0;

        for (; s->n - i >= MAX_ROWS; i += MAX_ROWS)
            multiply_block(s, a, b + i * s->ldb, c + i * s->ldc, count, MAX_ROWS, left, right);
        for (; s->n - i >= FEW_ROWS; i += FEW_ROWS)
            multiply_block(s, a, b + i * s->ldb, c + i * s->ldc, count, FEW_ROWS, left, right);
        for (; i < s->n; i++)
            multiply_block(s, a, b + i * s->ldb, c + i * s->ldc, count, 1, left, right);
    }
}
