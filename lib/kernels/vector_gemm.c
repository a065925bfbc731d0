/*
 * vector_gemm.c - the portable product, and the definition of what the JIT kernels must give.
 *
 * Every element is its own chain of fma over k, so how elements are grouped into registers is free.
 * Where the columns are no multiple of a register, the last register is moved to the left, and what
 * two registers hold is stored once: no masks are needed in the loop, and nothing outside the
 * matrices is read or written.
 */
#include "kernels/vector.h"

#include <assert.h>
#include <string.h>

/* Blocks of at most so many rows by registers of columns have sums that fit the register file. */
#if defined __AVX512F__
enum { ROWS = 6, REGISTERS = 4, PREFETCHES = true };
#elif defined __ARM_NEON
enum { ROWS = 4, REGISTERS = 4, PREFETCHES = false }; /* a line of the cache wide */
#else
enum { ROWS = 6, REGISTERS = 2, PREFETCHES = false };
#endif
enum { ALL_REGISTERS = 64 / LANES };

/* The arguments of a product: c [n, m] = b a over COUNT blocks. */
struct product {
    const struct attn_gemm_shape *shape;
    const float *a, *b;
    float *c;
    size_t count;
    const float *next; /* a panel that lies as a does, to be prefetched; NULL: none */
};

/* --- Prefetching the next panel -------------------------------------------------------------- */

enum { LINE = 64 / sizeof(float) }; /* floats in a line of the caches */

/* Lines that one block of rows prefetches, from one to the next as they lie in memory: other orders
 * were slower. */
struct prefetch {
    const float *line;       /* the next one */
    size_t column, n_column; /* which of its row's lines that is; lines of a row */
    size_t step;             /* floats from the last line of a row to the first of the next */
    size_t n_each, n_more;   /* in each step of k, and one more in each of the first */
};

/* Prefetches those of step K. */
static inline void prefetch_some(struct prefetch *prefetch, size_t k)
{
    for (size_t n = prefetch->n_each + (k < prefetch->n_more); n > 0; n--) {
        __builtin_prefetch(prefetch->line);
        prefetch->line += ++prefetch->column < prefetch->n_column ? LINE : prefetch->step;
        if (prefetch->column == prefetch->n_column)
            prefetch->column = 0;
    }
}

/* --- Blocks ---------------------------------------------------------------------------------- */

/* Stores the columns from WANTED on of a register that begins at AT: another holds those before. */
static inline void store_columns(float *c, size_t wanted, size_t at, vf sum)
{
    const size_t n_before = wanted - at;

    if (n_before == 0)
        v_store(c + at, sum);
    else if (n_before < LANES)
        memcpy(c + wanted, (const float *)&sum + n_before, (LANES - n_before) * sizeof *c);
}

/*
 * ROWS rows of c from ROW on, REGISTERS registers of columns from FIRST on. Both numbers are
 * constants where this is called, so that all sums stay in registers.
 */
static inline __attribute__((always_inline)) void multiply_block(const struct product *p,
                                                                 size_t row, size_t first,
                                                                 size_t rows, size_t registers,
                                                                 struct prefetch prefetch)
{
    const struct attn_gemm_shape *s = p->shape;
    const float *a = p->a, *b = p->b + row * s->ldb;
    float *c = p->c + row * s->ldc;
    vf sum[ROWS][ALL_REGISTERS] = {{{0}}};
    size_t at[ALL_REGISTERS]; /* the columns that a register begins with */

#pragma GCC unroll 16
    for (size_t v = 0; v < registers; v++)
        at[v] = first + (v + 1) * LANES <= s->m ? first + v * LANES : s->m - LANES;
    if (s->is_continued)
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
            for (size_t v = 0; v < registers; v++)
                sum[i][v] = v_load(c + i * s->ldc + at[v]);
    for (size_t block = 0; block < p->count; block++, a += s->step_a, b += s->step_b)
        for (size_t k = 0; k < s->k; k++) {
            vf weight[ALL_REGISTERS];

            if (PREFETCHES)
                prefetch_some(&prefetch, k);
#pragma GCC unroll 16
            for (size_t v = 0; v < registers; v++)
                weight[v] = v_load(a + k * s->lda + at[v]);
#pragma GCC unroll 16
            for (size_t i = 0; i < rows; i++) {
                vf x = v_splat(b[i * s->ldb + k]);

#pragma GCC unroll 16
                for (size_t v = 0; v < registers; v++)
                    sum[i][v] = v_fma(x, weight[v], sum[i][v]);
            }
        }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v++)
            store_columns(c + i * s->ldc, first + v * LANES, at[v], sum[i][v]);
}

#if defined __AVX512F__
/* What block I of N prefetches: as much as any other. */
static struct prefetch share_prefetch(const struct product *p, size_t i, size_t n)
{
    const struct attn_gemm_shape *s = p->shape;
    const size_t n_column = (s->m + LINE - 1) / LINE, n_line = n_column * s->k;
    const size_t first = n_line * i / n, n_mine = n_line * (i + 1) / n - first;

    if (!p->next)
        return (struct prefetch){0};
    return (struct prefetch){.line = p->next + first / n_column * s->lda + first % n_column * LINE,
                             .column = first % n_column,
                             .n_column = n_column,
                             .step = s->lda - (n_column - 1) * LINE,
                             .n_each = n_mine / s->k,
                             .n_more = n_mine % s->k};
}

/* All columns at once, in blocks of nearly the same number of rows. */
static void multiply(const struct product *p)
{
    const size_t n = p->shape->n, n_block = (n + ROWS - 1) / ROWS;

    for (size_t row = 0, end, i = 0; i < n_block; i++, row = end) {
        const struct prefetch prefetch = share_prefetch(p, i, n_block);

        end = n * (i + 1) / n_block;
        switch (end - row) {
#define ROWS_CASE(rows)                                                                            \
    case rows:                                                                                     \
        multiply_block(p, row, 0, rows, REGISTERS, prefetch);                                      \
        break;
            ROWS_CASE(1)
            ROWS_CASE(2)
            ROWS_CASE(3)
            ROWS_CASE(4)
            ROWS_CASE(5)
            ROWS_CASE(6)
#undef ROWS_CASE
        default:
            assert(false);
        }
    }
}
#else
/* Rows left over take all 64 columns at once: with few rows each row of A should be read in one
 * go. */
static void multiply(const struct product *p)
{
    const struct attn_gemm_shape *s = p->shape;
    const struct prefetch none = {0};
    size_t i = 0;

    for (; s->n - i >= ROWS; i += ROWS)
        for (size_t j = 0; j < s->m; j += (size_t)REGISTERS * LANES)
            multiply_block(p, i, j, ROWS, REGISTERS, none);
    for (; i < s->n; i++)
        multiply_block(p, i, 0, 1, ALL_REGISTERS, none);
}
#endif

void ATTN_FOR_ISA(attn_vector_gemm)(const struct attn_gemm_shape *s, const float *a, const float *b,
                                    float *c, size_t count)
{
    const struct product product = {s, a, b, c, count, NULL};

    assert(s->m >= 17 && s->m <= 64 && s->n >= 1 && count >= 1);
    multiply(&product);
}

void ATTN_FOR_ISA(attn_vector_gemm_ahead)(const struct attn_gemm_shape *s, const float *a,
                                          const float *b, float *c, const float *next)
{
    const struct product product = {s, a, b, c, 1, next};

    assert(s->m >= 17 && s->m <= 64 && s->n >= 1);
    multiply(&product);
}

/* --- What products are measured against ------------------------------------------------------ */

#if defined __AVX512F__ || defined __ARM_NEON
enum { N_CHAIN = 24 }; /* of 32 registers; each fma takes 4 cycles, and 2 begin in each */
#else
enum { N_CHAIN = 12 }; /* of 16 */
#endif

/* As many multiply-adds as this instruction set can do, on registers alone. */
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
