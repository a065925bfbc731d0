/* vector_bf16.c - products in bfloat16, the upper half of a float32, with sums in float32. Used
 * where libxsmm lacks kernels for them. Also the interleaved layout, which both use. */
#include "kernels/vector.h"

#include <assert.h>
#include <string.h>

/* Rounds X to nearest even in the upper half of the bits; the lower half is unspecified. */
static inline vi round_bits(vf x)
{
    typedef uint32_t unsigned_lanes __attribute__((vector_size(4 * LANES)));
    const unsigned_lanes bits = (unsigned_lanes)x;
    const vi is_nan = ((vi)bits & 0x7fffffff) > 0x7f800000;
    /* May overflow for NaN, which is handled below. */
    const vi rounded = (vi)(bits + 0x7fff + ((bits >> 16) & 1));

    return (is_nan & ((vi)bits | 0x00400000)) | (~is_nan & rounded);
}

void ATTN_FOR_ISA(attn_vector_round_bf16)(const float *x, size_t n, uint16_t *y)
{
    for (size_t i = 0; i < n; i += LANES) {
        const vi bits = (round_bits(v_load_some(x + i, n - i)) >> 16) & 0xffff;
        const halves h = __builtin_convertvector(bits, halves);

        memcpy(y + i, &h, n - i < LANES ? (n - i) * sizeof *y : sizeof h);
    }
}

void ATTN_FOR_ISA(attn_vector_pair_bf16)(const float *x0, const float *x1, size_t n, uint16_t *y)
{
    const vi upper = v_splat_int(-0x10000);

    for (size_t i = 0; i < n; i += LANES) {
        const vi low = (round_bits(v_load_some(x0 + i, n - i)) >> 16) & 0xffff;
        const vi high = x1 ? round_bits(v_load_some(x1 + i, n - i)) & upper : (vi){0};
        const vi pairs = low | high;

        memcpy(y + 2 * i, &pairs, n - i < LANES ? 2 * (n - i) * sizeof *y : sizeof pairs);
    }
}

enum { ROWS = 4 }; /* number of rows that are computed side by side */

/* Computes ROWS rows of c in the first N_COL of the columns that one register holds. */

static inline void multiply_rows(const struct attn_gemm_shape *s, const uint16_t *a,
                                 const uint16_t *b, float *c, size_t rows, size_t n_col)
{
    vf sum[ROWS];

    for (size_t i = 0; i < rows; i++)
        sum[i] = s->is_continued ? v_load_some(c + i * s->ldc, n_col) : v_splat(0);
    for (size_t k = 0; k < s->k; k += 2) {
        const vi pairs = (vi)v_load_some((const float *)(const void *)(a + k * s->lda), n_col);
        const vf low = (vf)(pairs << 16), high = (vf)(pairs & -0x10000);

        for (size_t i = 0; i < rows; i++) {
            const uint16_t *x = b + i * s->ldb + k;

            sum[i] = v_fma((vf)v_splat_int((int32_t)((uint32_t)x[0] << 16)), low, sum[i]);
            sum[i] = v_fma((vf)v_splat_int((int32_t)((uint32_t)x[1] << 16)), high, sum[i]);
        }
    }
    for (size_t i = 0; i < rows; i++)
        v_store_some(c + i * s->ldc, sum[i], n_col);
}

void ATTN_FOR_ISA(attn_vector_gemm_bf16)(const struct attn_gemm_shape *s, const uint16_t *a,
                                         const uint16_t *b, float *c)
{
    assert(s->k % 2 == 0);
    for (size_t i = 0; i < s->n; i += ROWS)
        for (size_t j = 0; j < s->m; j += LANES)
            multiply_rows(s, a + 2 * j, b + i * s->ldb, c + i * s->ldc + j,
                          s->n - i < ROWS ? s->n - i : ROWS, s->m - j);
}
