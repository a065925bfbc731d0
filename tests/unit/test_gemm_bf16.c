/*
 * test_gemm_bf16.c - products in bfloat16: rounding, the portable loop is its definition, and
 * whatever makes them gives a row the same bits alone or among others, in one piece or in two.
 */
#include "base/memory.h"
#include "kernels/linear.h"
#include "kernels/panels.h"
#include "tests/support/emulated_tiles.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { MAX_K = 768, MAX_N = 64, WIDE = 64 };

static uint16_t a[MAX_K * WIDE], b[MAX_N * MAX_K];
static float c[MAX_N * WIDE], expected[MAX_N * WIDE];

static float widen(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static struct attn_gemm_engine engine_of(enum attn_gemm how, enum attn_isa isa)
{
    return attn_gemm_engine_start(how, isa, (double)INFINITY);
}

/* As AUTO's where the processor has tiles. */
static struct attn_gemm_engine engine_of_tiles(void)
{
    struct attn_gemm_engine engine = engine_of(ATTN_GEMM_JIT, ATTN_ISA_BEST);

    engine.tiles = &attn_emulated_tiles;
    if (engine.kernels->isa ==
        ATTN_ISA_AVX2) /* its panels lie in slices; no AMX is without AVX-512 */
        engine.kernels = attn_kernels_find(ATTN_ISA_BASELINE);
    return engine;
}

static void fill_inputs(void)
{
    attn_reference_fill_bf16(a, (size_t)MAX_K * WIDE, 1, 3);
    attn_reference_fill_bf16(b, (size_t)MAX_N * MAX_K, 1, 4);
}

START_TEST(numbers_are_rounded_to_nearest_even)
{
    static const struct {
        float x;
        uint32_t half;
    } cases[] = {
        {1, 0x3f80},         {-2, 0xc000},          {0x1.01p0F, 0x3f80},
        {0x1.03p0F, 0x3f82}, {0x1.0101p0F, 0x3f81}, {0x1.fffffep127F, 0x7f80},
        {INFINITY, 0x7f80},  {-INFINITY, 0xff80},   {0, 0},
        {-0.0F, 0x8000},     {0x1p-149F, 0},        {0x1p-133F, 1},
    };
    enum { N_CASE = sizeof cases / sizeof *cases };

    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
        const struct attn_kernels *kernels = attn_kernels_find((enum attn_isa)isa);

        for (size_t n = 1; n <= N_CASE; n++) {
            float x[N_CASE];
            uint16_t y[N_CASE + 1], pairs[2 * N_CASE + 1];

            memset(y, 0x55, sizeof y);
            memset(pairs, 0x55, sizeof pairs);
            for (size_t i = 0; i < n; i++)
                x[i] = cases[i].x;
            kernels->round_bf16(x, n, y);
            kernels->pair_bf16(x, x, n, pairs);
            for (size_t i = 0; i < n; i++)
                ck_assert(y[i] == cases[i].half && pairs[2 * i] == y[i] &&
                          pairs[2 * i + 1] == y[i]);
            kernels->pair_bf16(x, NULL, n, pairs);
            ck_assert(y[n] == 0x5555 && pairs[2 * n] == 0x5555 && pairs[2 * n - 1] == 0);
            x[0] = NAN;
            kernels->round_bf16(x, 1, y);
            ck_assert(isnan(widen(y[0])));
        }
    }
}
END_TEST

static void multiply(const struct attn_gemm_engine *engine, const struct attn_gemm_shape *shape,
                     size_t row, size_t k)
{
    const struct attn_gemm_kernel kernel = attn_gemm_kernel_find(engine, shape);

    ck_assert(kernel.tiles == engine->tiles);
    ck_assert(!engine->is_jit_bf16 || kernel.tiles != NULL || kernel.jit != NULL);
    if (shape->is_ahead)
        attn_gemm_kernel_run_ahead(&kernel, a + k * shape->lda, b + row * MAX_K + k, c + row * WIDE,
                                   a);
    else
        attn_gemm_kernel_run(&kernel, a + k * shape->lda, b + row * MAX_K + k, c + row * WIDE, 1);
}

START_TEST(the_portable_loop_is_the_definition)
{
    fill_inputs();
    for (size_t m = 17; m <= 64; m++)
        for (size_t n = 1; n <= 7; n += 3)
            for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
                const struct attn_gemm_engine loop =
                    engine_of(ATTN_GEMM_PORTABLE, (enum attn_isa)isa);
                const struct attn_gemm_shape shape = {
                    .m = m, .n = n, .k = 30, .lda = m, .ldb = MAX_K, .ldc = WIDE, .is_bf16 = true};

                for (size_t i = 0; i < (size_t)MAX_N * WIDE; i++)
                    c[i] = expected[i] = -7;
                for (size_t i = 0; i < n; i++)
                    for (size_t j = 0; j < m; j++) {
                        float sum = 0;

                        for (size_t k = 0; k < 30; k++)
                            sum = fmaf(widen(b[i * MAX_K + k]),
                                       widen(a[(k / 2 * m + j) * 2 + k % 2]), sum);
                        expected[i * WIDE + j] = sum;
                    }
                multiply(&loop, &shape, 0, 0);
                attn_assert_same_bits("portable", c, expected, (size_t)MAX_N * WIDE);
            }
}
END_TEST

static const size_t some_rows[] = {1, 2, 3, 5, 6, 7, 12, 31, 32, 48};

static void check_independence(const struct attn_gemm_engine *engine)
{
    const size_t m_step = engine->tiles != NULL ? 11 : 1; /* those in C are slow */

    fill_inputs();
    for (size_t m = 17; m <= 64; m += m_step) {
        struct attn_gemm_shape shape = {
            .m = m, .n = MAX_N, .k = MAX_K, .lda = m, .ldb = MAX_K, .ldc = WIDE, .is_bf16 = true};

        multiply(engine, &shape, 0, 0);
        memcpy(expected, c, sizeof c);
        for (size_t r = 0; r < sizeof some_rows / sizeof *some_rows; r++)
            for (int is_cut = 0; is_cut < 2; is_cut++) {
                const size_t row = 3, cut = engine->tiles != NULL ? 256 : 254;
                const size_t first = is_cut ? cut : MAX_K;

                shape.n = some_rows[r];
                shape.k = first;
                shape.is_ahead = is_cut;
                multiply(engine, &shape, row, 0);
                if (is_cut) {
                    shape.k = MAX_K - first;
                    shape.is_continued = true;
                    multiply(engine, &shape, row, first);
                    shape.is_continued = false;
                }
                attn_assert_same_bits("rows", c, expected, (size_t)MAX_N * WIDE);
            }
    }
}

/* The first columns of a panel of 64 alone: which head is wanted must not change bits. */
static void check_widths(const struct attn_gemm_engine *engine)
{
    struct attn_gemm_shape shape = {
        .m = WIDE, .n = 6, .k = MAX_K, .lda = WIDE, .ldb = MAX_K, .ldc = WIDE, .is_bf16 = true};

    fill_inputs();
    multiply(engine, &shape, 0, 0);
    memcpy(expected, c, sizeof c);
    for (shape.m = 17; shape.m < WIDE; shape.m++) {
        memset(c, 0, sizeof c);
        multiply(engine, &shape, 0, 0);
        for (size_t i = 0; i < shape.n; i++)
            attn_assert_same_bits("columns", c + i * WIDE, expected + i * WIDE, shape.m);
    }
}

START_TEST(columns_have_the_same_bits_in_panels_of_any_width)
{
    struct attn_gemm_engine jit = engine_of(ATTN_GEMM_JIT, ATTN_ISA_BEST);
    struct attn_gemm_engine loop = engine_of(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST);

    struct attn_gemm_engine tiles = engine_of_tiles();

    check_widths(&jit);
    check_widths(&loop);
    check_widths(&tiles);
}
END_TEST

START_TEST(a_row_has_the_same_bits_alone_and_in_pieces)
{
    struct attn_gemm_engine jit = engine_of(ATTN_GEMM_JIT, ATTN_ISA_BEST);
    struct attn_gemm_engine loop = engine_of(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST);

    struct attn_gemm_engine tiles = engine_of_tiles();

    check_independence(&jit);
    check_independence(&loop);
    check_independence(&tiles);
}
END_TEST

/* How far a product may be from x w, as a part of it: each factor is off by at most 2^-8 of itself,
 * and sums in float32 add little. */
static const double most_error = 0x1.02p-7;

/* A map, its weight packed before or not, all rows or one. */
static void check_map(const struct attn_gemm_engine *engine, size_t n_row, size_t n_in,
                      size_t n_out)
{
    const enum attn_compute compute = ATTN_COMPUTE_BF16;
    float *w = attn_alloc(n_in * n_out, sizeof *w, NULL), *scratch;
    float *x = attn_alloc(n_row * n_in, sizeof *x, NULL), *rows = x;
    float *y = attn_alloc(n_row * n_out, sizeof *y, NULL);
    float *again = attn_alloc(n_row * n_out, sizeof *again, NULL);
    struct attn_linear linear = {
        .weight = {w, ATTN_DTYPE_F32, n_in, n_out, n_out, 1, n_out, 0, false, NULL, NULL, 0}};
    struct attn_linear_args args = {.linear = &linear,
                                    .engine = engine,
                                    .scratch = &scratch,
                                    .x = x,
                                    .ldx = n_in,
                                    .n_row = n_row,
                                    .compute = compute,
                                    .y = y,
                                    .ldy = n_out,
                                    .last_col = n_out};

    size_t n_rounded;

    ck_assert(w != NULL && rows != NULL && y != NULL && again != NULL);
    scratch = attn_alloc(attn_linear_scratch(&linear), sizeof *scratch, NULL);
    n_rounded = n_row * attn_linear_rounded(&linear, compute);
    args.rounded = attn_alloc(n_rounded, sizeof *args.rounded, NULL);
    ck_assert(scratch != NULL && args.rounded != NULL);
    memset(args.rounded, 0xff,
           n_rounded * sizeof *args.rounded); /* NaN, as earlier work may leave */
    attn_reference_fill(w, n_in * n_out, 1, n_out);
    attn_reference_fill(x, n_row * n_in, 1, n_in);
    attn_linear_run(&args, 1, NULL);
    for (size_t i = 0; i < n_row; i++)
        for (size_t j = 0; j < n_out; j++) {
            double sum = 0, size = 0;

            for (size_t k = 0; k < n_in; k++) {
                sum += (double)x[i * n_in + k] * (double)w[k * n_out + j];
                size += fabs((double)x[i * n_in + k] * (double)w[k * n_out + j]);
            }
            ck_assert_double_le(fabs((double)y[i * n_out + j] - sum), size * most_error);
        }
    linear.packed = attn_alloc(attn_linear_packed_size(&linear, engine->kernels, compute), 1, NULL);
    linear.packed_for = compute;
    args.y = again;
    /* The packed form may be that of another instruction set, to which a session is not limited. */
    for (enum attn_isa isa = ATTN_ISA_BASELINE; isa <= ATTN_ISA_AVX512; isa++) {
        attn_linear_pack(&linear, attn_kernels_find(isa), NULL);
        attn_linear_run(&args, 1, NULL);
        attn_assert_same_bits("packed", again, y, n_row * n_out);
    }
    attn_linear_pack(&linear, engine->kernels, NULL);
    args.n_row = 1;
    args.x = x + (n_row - 1) * n_in;
    args.y = again + (n_row - 1) * n_out;
    attn_linear_run(&args, 1, NULL);
    attn_assert_same_bits("alone", again, y, n_row * n_out);
    args.first_col = n_out / 2; /* a panel of its own: padded, and in one piece, if it is narrow */
    args.last_col = n_out / 2 + 1;
    args.ldy = 1;
    attn_linear_run(&args, 1, NULL);
    attn_assert_same_bits("column", again + (n_row - 1) * n_out,
                          y + (n_row - 1) * n_out + n_out / 2, 1);
    ck_assert(attn_emulated_tiles_are_released());
    attn_free(linear.packed), attn_free(args.rounded), attn_free(scratch);
    attn_free(w), attn_free(x), attn_free(y), attn_free(again);
}

START_TEST(a_map_is_near_that_of_double_and_the_same_for_one_row_as_for_many)
{
    const struct attn_gemm_engine engines[] = {
        engine_of(ATTN_GEMM_JIT, ATTN_ISA_BEST), engine_of(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST),
        engine_of(ATTN_GEMM_PORTABLE, ATTN_ISA_AVX2), engine_of_tiles()};

    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        check_map(&engines[i], 50, 33, 15);
        check_map(&engines[i], 100, 5001, 15);
        check_map(&engines[i], 7, 5001, 66);
        check_map(&engines[i], 60, 129, 200);
        check_map(&engines[i], 150, 70, 100);
        check_map(&engines[i], 3, 1, 64);
    }
}
END_TEST

ATTN_SUITE("gemm: bfloat16", numbers_are_rounded_to_nearest_even,
           the_portable_loop_is_the_definition, columns_have_the_same_bits_in_panels_of_any_width,
           a_row_has_the_same_bits_alone_and_in_pieces,
           a_map_is_near_that_of_double_and_the_same_for_one_row_as_for_many)
