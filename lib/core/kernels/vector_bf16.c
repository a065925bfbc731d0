/* vector_bf16.c - products in bfloat16, the upper half of a float32, with sums in float32. Used
 * where libxsmm lacks kernels for them. Also the interleaved layout, which both use. */
#include "kernels/panels.h"
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

/* A block of c whose sums stay in registers; a row alone takes all columns of a panel. */
enum { ROWS = 4, REGISTERS = 2, ALL_REGISTERS = ATTN_PANEL / LANES };

/* Where a block is. Up to 16 columns of a, which lie side by side, are followed by the next 16
 * after `slice` pairs of numbers. */
struct place {
    const uint16_t *a, *b;
    float *c;
    size_t slice;
};

/* Computes ROWS rows of c in the first N_COL of the columns that REGISTERS registers hold. The last
 * of them is a constant only if it is full. */
static inline __attribute__((always_inline)) void multiply_block(const struct attn_gemm_shape *s,
                                                                 struct place at, size_t rows,
                                                                 size_t registers, size_t n_col)
{
    const vi upper = v_splat_int(-0x10000);
    float *c = at.c;
    vf sum[ROWS][ALL_REGISTERS];

#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v++)
            sum[i][v] = s->is_continued ? v_load_some(c + i * s->ldc + v * LANES, n_col - v * LANES)
                                        : v_splat(0);
    for (size_t k = 0; k < s->k; k += 2) {
#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v += REGISTERS) {
            vf low[REGISTERS], high[REGISTERS];

#pragma GCC unroll 16
            for (size_t u = 0; u < REGISTERS && u < registers; u++) {
                const size_t j = (v + u) * LANES;
                const float *pairs = (const float *)(const void *)(at.a + k * s->lda);
                const vi both =
                    (vi)v_load_some(pairs + j / ATTN_SLICE * at.slice + j % ATTN_SLICE, n_col - j);

                low[u] = (vf)(both << 16);
                high[u] = (vf)(both & upper);
            }
#pragma GCC unroll 16
            for (size_t i = 0; i < rows; i++) {
                int32_t both;
                vf x0, x1;

                memcpy(&both, at.b + i * s->ldb + k, sizeof both);
                x0 = (vf)(v_splat_int(both) << 16);
                x1 = (vf)(v_splat_int(both) & upper);
#pragma GCC unroll 16
                for (size_t u = 0; u < REGISTERS && u < registers; u++)
                    sum[i][v + u] = v_fma(x1, high[u], v_fma(x0, low[u], sum[i][v + u]));
            }
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v++)
            v_store_some(c + i * s->ldc + v * LANES, sum[i][v], n_col - v * LANES);
}

/* Computes ROWS rows, a constant. */
static inline __attribute__((always_inline)) void multiply_rows(const struct attn_gemm_shape *s,
                                                                const uint16_t *a,
                                                                const uint16_t *b, float *c,
                                                                size_t rows)
{
    enum { WIDTH = REGISTERS * LANES };
    const size_t slice = s->slice > 0 ? s->slice / 2 : ATTN_SLICE; /* in pairs */
    size_t j = 0;

    if (rows == 1 && s->m == ATTN_PANEL) {
        multiply_block(s, (struct place){a, b, c, slice}, 1, ALL_REGISTERS, ATTN_PANEL);
        return;
    }
    for (; s->m - j >= WIDTH; j += WIDTH)
        multiply_block(
            s, (struct place){a + 2 * (j / ATTN_SLICE * slice + j % ATTN_SLICE), b, c + j, slice},
            rows, REGISTERS, WIDTH);
    for (; j < s->m; j += LANES)
        multiply_block(s, (struct place){a + 2 * j, b, c + j, slice}, rows, 1, s->m - j);
}

void ATTN_FOR_ISA(attn_vector_gemm_bf16)(const struct attn_gemm_shape *s, const uint16_t *a,
                                         const uint16_t *b, float *c)
{
    size_t i = 0;

    assert(s->k % 2 == 0);
    for (; s->n - i >= ROWS; i += ROWS)
        multiply_rows(s, a, b + i * s->ldb, c + i * s->ldc, ROWS);
    for (; i < s->n; i++)
        multiply_rows(s, a, b + i * s->ldb, c + i * s->ldc, 1);
}
