/*
 * vector_gemm.c - the portable product, whose results the JIT kernels must match.
 *
 * Each element is a separate chain of fma over k, so elements may be grouped into registers in any
 * way. If the number of columns is not a multiple of the register size, the last register is moved
 * to the left to overlap the one before; columns in both are stored once. So the loop needs no
 * masks, and nothing outside the matrices is read or written.
 */
#include "kernels/panels.h"
#include "kernels/vector.h"

#include <assert.h>
#include <string.h>

/* The size of a block of c whose sums fit the register file: rows, and registers of columns. */
#if defined __AVX512F__
enum { ROWS = 6, REGISTERS = 4, PREFETCHES = true, UNROLLED = 4, STEPS = UNROLLED };
#elif defined __ARM_NEON
enum { ROWS = 4, REGISTERS = 4, PREFETCHES = false, UNROLLED = 1 }; /* as wide as a cache line */
#else
enum { ROWS = 6, REGISTERS = 2, PREFETCHES = false, UNROLLED = 1, STEPS = 4 };
#endif
enum { ALL_REGISTERS = 64 / LANES };

/* The arguments of a product: c [n, m] = b a over COUNT blocks. */
struct product {
    const struct attn_gemm_shape *shape;
    const float *a, *b;
    float *c;
    size_t count;
    const float *next; /* a panel with the layout of a, to be prefetched; NULL: no prefetch */
};

/* --- Prefetching the next panel -------------------------------------------------------------- */

enum { LINE = 64 / sizeof(float) }; /* floats in a cache line */

/* The cache lines that one block of rows prefetches, in memory order: other orders were slower. */
struct prefetch {
    const float *line;       /* the next line to prefetch */
    size_t column, n_column; /* its index within its row of the panel; number of lines in a row */
    size_t step;             /* floats from the last line of a row to the first of the next */
    /* Lines to prefetch in STEPS steps of k; the first n_more groups prefetch one more. */
    size_t n_each, n_more;
};

/* Prefetches the lines for group GROUP of STEPS steps of k. They go into the L2 cache, because the
 * L1 cache can wait for fewer lines at a time. */
static inline void prefetch_some(struct prefetch *prefetch, size_t group)
{
    for (size_t n = prefetch->n_each + (group < prefetch->n_more); n > 0; n--) {
        __builtin_prefetch(prefetch->line, 0, 2);
        prefetch->line += ++prefetch->column < prefetch->n_column ? LINE : prefetch->step;
        if (prefetch->column == prefetch->n_column)
            prefetch->column = 0;
    }
}

/* --- Blocks ---------------------------------------------------------------------------------- */

/* Stores a register that begins at column AT, but only its columns from WANTED on: the columns
 * before are in another register. */
static inline void store_columns(float *c, size_t wanted, size_t at, vf sum)
{
    const size_t n_before = wanted - at;

    if (n_before == 0)
        v_store(c + at, sum);
    else if (n_before < LANES)
        memcpy(c + wanted, (const float *)&sum + n_before, (LANES - n_before) * sizeof *c);
}

/* The part of c that one call computes: ROWS rows from ROW on, by REGISTERS registers of columns
 * from FIRST on. All fields but `row` and `first` are constants, so that all sums stay in
 * registers. */
struct block {
    size_t row, first, rows, registers;
    bool is_full; /* the panel has 64 columns without gaps between its rows */
};

/* The addresses from which the next steps of k read weights and x. */
struct operands {
    const float *a, *b;
    size_t lda, ldb;
};

/* Adds the products of N steps of k to SUM; N is a constant. Registers of weights begin at the
 * columns AT. Each address is a base plus an index times 1, 2 or 4, which processors compute in a
 * load, so that no register holds the address of a row of x. */
static inline __attribute__((always_inline)) void add_products(size_t n, struct operands *next,
                                                               struct block block, const size_t *at,
                                                               vf sum[ROWS][ALL_REGISTERS])
{
    const float *a = next->a, *b = next->b, *b3 = b + 3 * next->ldb;
    const size_t lda = next->lda, ldb = next->ldb;

#pragma GCC unroll 16
    for (size_t k = 0; k < n; k++) {
        vf weight[ALL_REGISTERS];

#pragma GCC unroll 16
        for (size_t v = 0; v < block.registers; v++)
            weight[v] = v_load(a + k * lda + at[v]);
#pragma GCC unroll 16
        for (size_t i = 0; i < block.rows; i++) {
            const vf x = v_splat(i < 3 ? b[i * ldb + k] : b3[(i - 3) * ldb + k]);

#pragma GCC unroll 16
            for (size_t v = 0; v < block.registers; v++)
                sum[i][v] = v_fma(x, weight[v], sum[i][v]);
        }
    }
    next->a += n * lda;
    next->b += n;
}

static inline __attribute__((always_inline)) void
multiply_block(const struct product *p, struct block block, struct prefetch prefetch)
{
    const struct attn_gemm_shape *s = p->shape;
    const size_t rows = block.rows, registers = block.registers, first = block.first;
    struct operands begin = {p->a, p->b + block.row * s->ldb, block.is_full ? ATTN_PANEL : s->lda,
                             s->ldb};
    float *c = p->c + block.row * s->ldc;
    vf sum[ROWS][ALL_REGISTERS] = {{{0}}};
    size_t at[ALL_REGISTERS]; /* the first column of each register */

#pragma GCC unroll 16
    for (size_t v = 0; v < registers; v++)
        at[v] = block.is_full || first + (v + 1) * LANES <= s->m ? first + v * LANES : s->m - LANES;
    if (s->is_continued)
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
            for (size_t v = 0; v < registers; v++)
                sum[i][v] = v_load(c + i * s->ldc + at[v]);
    for (size_t i = 0; i < p->count; i++, begin.a += s->step_a, begin.b += s->step_b) {
        struct operands next = begin;

        for (size_t group = 0; group < s->k / UNROLLED; group++) {
            if (PREFETCHES)
                prefetch_some(&prefetch, group);
            add_products(UNROLLED, &next, block, at, sum);
        }
        for (size_t k = s->k / UNROLLED * UNROLLED; k < s->k; k++)
            add_products(1, &next, block, at, sum);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v++)
            store_columns(c + i * s->ldc, first + v * LANES, at[v], sum[i][v]);
}

#if defined __AVX2__
/* Returns the lines that block I of N prefetches. All blocks of all parts get equal shares. */
static struct prefetch share_prefetch(const struct product *p, size_t i, size_t n)
{
    const struct attn_gemm_shape *s = p->shape;
    const size_t n_column = s->slice > 0 ? s->k : (s->m + LINE - 1) / LINE;
    const size_t n_line = (s->m + LINE - 1) / LINE * s->k, ld = s->slice > 0 ? s->slice : s->lda;
    const size_t n_share = s->n_part > 0 ? s->n_part * n : n, share = s->part * n + i;
    const size_t first = n_line * share / n_share;
    const size_t n_mine = n_line * (share + 1) / n_share - first, n_group = s->k / STEPS;

    if (!p->next || n_group == 0)
        return (struct prefetch){0};
    return (struct prefetch){.line = p->next + first / n_column * ld + first % n_column * LINE,
                             .column = first % n_column,
                             .n_column = n_column,
                             .step = ld - (n_column - 1) * LINE,
                             .n_each = n_mine / n_group,
                             .n_more = n_mine % n_group};
}
#endif

#if defined __AVX512F__
/* Multiplies with all columns at once, in blocks of nearly equal numbers of rows. */
static void multiply(const struct product *p)
{
    const size_t n = p->shape->n, n_block = (n + ROWS - 1) / ROWS;
    const bool is_full = p->shape->m == ATTN_PANEL && p->shape->lda == ATTN_PANEL;

    for (size_t row = 0, end, i = 0; i < n_block; i++, row = end) {
        const struct prefetch prefetch = share_prefetch(p, i, n_block);

        end = n * (i + 1) / n_block;
        switch (end - row) {
#define ROWS_CASE(rows)                                                                            \
    case rows:                                                                                     \
        if (is_full)                                                                               \
            multiply_block(p, (struct block){row, 0, rows, REGISTERS, true}, prefetch);            \
        else                                                                                       \
            multiply_block(p, (struct block){row, 0, rows, REGISTERS, false}, prefetch);           \
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
/* Multiplies in blocks of ROWS rows. The remaining rows are multiplied with all 64 columns at once,
 * because few rows should read each row of A in one go. */
static void multiply(const struct product *p)
{
    const struct attn_gemm_shape *s = p->shape;
    const struct prefetch none = {0};
    size_t i = 0;

    for (; s->n - i >= ROWS; i += ROWS)
        for (size_t j = 0; j < s->m; j += (size_t)REGISTERS * LANES)
            multiply_block(p, (struct block){i, j, ROWS, REGISTERS, false}, none);
    for (; i < s->n; i++)
        multiply_block(p, (struct block){i, 0, 1, ALL_REGISTERS, false}, none);
}
#endif

/* --- Full panels with AVX2 -------------------------------------------------------------------- */

#if defined __AVX2__ && !defined __AVX512F__
enum { IN_SLICE = ATTN_SLICE / LANES }; /* registers in a slice */

/* Keeps the compiler from computing addresses for which there are no registers, and from moving
 * sums to memory. */
#define KEEP(x) __asm__("" : "+r"(x))
#define KEEP_SUM(x) __asm__("" : "+x"(x))

/* The addresses of one step of k. There are two bases each, since an address is a base plus an
 * index times 1 or 2: slice 3 and row 3. */
struct step {
    const float *a0, *a3, *b0, *b3;
    size_t slice, ldb;
};

/* Adds the products of a step to SUM. ROWS and REGISTERS are constants. */
static inline __attribute__((always_inline)) void
add_step(const struct step *at, size_t rows, size_t registers, vf sum[ROWS][ALL_REGISTERS])
{
    vf weight[ALL_REGISTERS];

#pragma GCC unroll 16
    for (size_t v = 0; v < registers; v++)
        weight[v] = v_load((v < (size_t)3 * IN_SLICE ? at->a0 + v / IN_SLICE * at->slice : at->a3) +
                           v % IN_SLICE * LANES);
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
        const vf x = v_splat(i < 3 ? at->b0[i * at->ldb] : at->b3[(i - 3) * at->ldb]);

#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v++) {
            sum[i][v] = v_fma(x, weight[v], sum[i][v]);
            KEEP_SUM(sum[i][v]);
        }
    }
}

/* Multiplies ROWS rows from ROW on by REGISTERS registers of columns from FIRST on. ROWS and
 * REGISTERS are constants. */
static inline __attribute__((always_inline)) void multiply_slices(const struct product *p,
                                                                  size_t row, size_t first,
                                                                  size_t rows, size_t registers,
                                                                  struct prefetch prefetch)
{
    const struct attn_gemm_shape *s = p->shape;
    size_t slice = s->slice > 0 ? s->slice : ATTN_SLICE, lda = s->lda, ldb = s->ldb;
    const float *a = p->a + first / ATTN_SLICE * slice, *b = p->b + row * ldb;
    float *c = p->c + row * s->ldc + first;
    vf sum[ROWS][ALL_REGISTERS];

#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v++)
            sum[i][v] = s->is_continued ? v_load(c + i * s->ldc + v * LANES) : v_splat(0);
    for (size_t block = 0; block < p->count; block++) {
        struct step at = {
            .a0 = a + block * s->step_a, .b0 = b + block * s->step_b, .slice = slice, .ldb = ldb};

        at.a3 = at.a0 + 3 * slice;
        at.b3 = at.b0 + 3 * ldb;
        for (size_t k = 0, n; k < s->k; k += n) {
            n = s->k - k < STEPS ? s->k - k : STEPS;
            prefetch_some(&prefetch, k / STEPS);
            for (size_t left = n; left > 0; left--) {
                KEEP(at.a0);
                KEEP(at.a3);
                KEEP(at.b0);
                KEEP(at.b3);
                add_step(&at, rows, registers, sum);
                at.a0 += lda, at.a3 += lda, at.b0++, at.b3++;
            }
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
        for (size_t v = 0; v < registers; v++)
            v_store(c + i * s->ldc + v * LANES, sum[i][v]);
}

typedef void block_of_slices(const struct product *p, size_t row, size_t first,
                             struct prefetch prefetch);

#define BLOCK(rows, registers)                                                                     \
    static __attribute__((noinline)) void multiply_##rows##_by_##registers(                        \
        const struct product *p, size_t row, size_t first, struct prefetch prefetch)               \
    {                                                                                              \
        multiply_slices(p, row, first, rows, registers, prefetch);                                 \
    }
BLOCK(1, 8)
BLOCK(2, 4)
BLOCK(3, 4)
BLOCK(3, 2)
BLOCK(4, 2)
BLOCK(5, 2)
BLOCK(6, 2)
#undef BLOCK

/* Multiplies in blocks of nearly equal numbers of rows, a slice after the other. Up to 3 rows take
 * several slices at once, so that there are enough independent sums. */
static void multiply_full(const struct product *p)
{
    static block_of_slices *const few[] = {multiply_1_by_8, multiply_2_by_4, multiply_3_by_4};
    static block_of_slices *const many[] = {multiply_3_by_2, multiply_4_by_2, multiply_5_by_2,
                                            multiply_6_by_2};
    const size_t n = p->shape->n, n_block = (n + ROWS - 1) / ROWS;
    const size_t width = n == 1 ? ATTN_PANEL : n <= 3 ? 2 * ATTN_SLICE : ATTN_SLICE;
    const size_t n_share = n_block * (ATTN_PANEL / width);

    for (size_t first = 0, share = 0; first < ATTN_PANEL; first += width)
        for (size_t row = 0, end, i = 0; i < n_block; i++, row = end) {
            end = n * (i + 1) / n_block;
            (n <= 3 ? few[n - 1] : many[end - row - 3])(p, row, first,
                                                        share_prefetch(p, share++, n_share));
        }
}
#endif

static void multiply_any(const struct product *p)
{
#if defined __AVX2__ && !defined __AVX512F__
    if (p->shape->m == ATTN_PANEL) {
        multiply_full(p);
        return;
    }
#endif
    assert(p->shape->slice == 0);
    multiply(p);
}

void ATTN_FOR_ISA(attn_vector_gemm)(const struct attn_gemm_shape *s, const float *a, const float *b,
                                    float *c, size_t count)
{
    const struct product product = {s, a, b, c, count, NULL};

    assert(s->m >= 17 && s->m <= 64 && s->n >= 1 && count >= 1);
    multiply_any(&product);
}

void ATTN_FOR_ISA(attn_vector_gemm_ahead)(const struct attn_gemm_shape *s, const float *a,
                                          const float *b, float *c, const float *next)
{
    const struct product product = {s, a, b, c, 1, next};

    assert(s->m >= 17 && s->m <= 64 && s->n >= 1);
    multiply_any(&product);
}

/* --- The processor's limit, to compare products with ------------------------------------------ */

#if defined __AVX512F__ || defined __ARM_NEON
enum {
    N_CHAIN = 24
}; /* independent chains, of 32 registers: each fma takes 4 cycles, and 2 start in each cycle */
#else
enum { N_CHAIN = 12 }; /* as above, with 16 registers */
#endif

/* Does as many multiply-adds as this instruction set allows, on registers alone. */
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
