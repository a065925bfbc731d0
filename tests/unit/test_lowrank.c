/*
 * test_lowrank.c - the projections of low-rank attention: PyTorch's numbers, and products against
 * double precision, the same bits from every engine and in any layout.
 */
#include "base/memory.h"
#include "kinds/lowrank.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANK = 70, MOST_KEY = 130, MOST_COL = 150, LD = MOST_COL + 3 };

static float e[MOST_RANK * MOST_KEY], f[MOST_RANK * MOST_KEY];
static float x[MOST_KEY * LD], y[MOST_RANK * LD], z[MOST_RANK * LD];

static struct attn_gemm_engine portable(void)
{
    return attn_gemm_engine_start(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST, 0);
}

static void assert_golden(const char *name, size_t n_rank, size_t n_key, const float *map)
{
    char path[128];
    size_t n;
    float *golden;

    snprintf(path, sizeof path, "tests/golden/lowrank.npz/%s_%zux%zu.npy", name, n_rank, n_key);
    golden = attn_npy_load_floats(path, &n);
    ck_assert_uint_eq(n, n_rank * n_key);
    attn_assert_same_bits(path, map, golden, n);
    free(golden);
}

START_TEST(projections_are_those_of_pytorch)
{
    static const size_t sizes[][2] = {{1, 3}, {2, 3}, {3, 7}, {8, 40}};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        attn_lowrank_draw(7, sizes[s][0], sizes[s][1], e, f);
        assert_golden("E", sizes[s][0], sizes[s][1], e);
        assert_golden("F", sizes[s][0], sizes[s][1], f);
    }
}
END_TEST

START_TEST(a_projection_keeps_lengths_on_average)
{
    const size_t n = (size_t)MOST_RANK * MOST_KEY;
    double squares = 0, products = 0;

    attn_lowrank_draw(1, MOST_RANK, MOST_KEY, e, f);
    for (size_t i = 0; i < n; i++) {
        squares += (double)e[i] * (double)e[i] / MOST_KEY;
        products += (double)e[i] * (double)f[i] / MOST_KEY;
    }
    ck_assert_double_eq_tol(squares, 1, 0.05); /* a column's length is 1 */
    ck_assert_double_eq_tol(products, 0, 0.05);
}
END_TEST

static const size_t some_ranks[] = {1, 6, 47, 48, 70}, some_keys[] = {1, 5, 64, 130};
static const size_t some_cols[] = {1, 3, 16, 17, 64, 65, 150};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Calls CHECK for every size, with e and x filled. */
static void each_size(void (*check)(const struct attn_lowrank_args *args))
{
    const struct attn_gemm_engine engine = portable();

    for (size_t r = 0; r < COUNT(some_ranks); r++)
        for (size_t s = 0; s < COUNT(some_keys); s++)
            for (size_t c = 0; c < COUNT(some_cols); c++) {
                const struct attn_lowrank_args args = {.engine = &engine,
                                                       .n_rank = some_ranks[r],
                                                       .n_key = some_keys[s],
                                                       .map = e,
                                                       .x = x,
                                                       .ldx = some_cols[c],
                                                       .n_col = some_cols[c],
                                                       .y = y,
                                                       .ldy = some_cols[c]};

                attn_lowrank_draw(r + 1, args.n_rank, args.n_key, e, f);
                attn_reference_fill(x, args.n_key * args.n_col, 1, s + c);
                check(&args);
            }
}

static void project(const struct attn_lowrank_args *args)
{
    float *scratch =
        attn_alloc_uninitialized(attn_lowrank_scratch(args->n_key), sizeof *scratch, NULL);

    ck_assert_ptr_nonnull(scratch);
    attn_lowrank_project(args, scratch);
    attn_free(scratch);
}

static void compare_with_double(const struct attn_lowrank_args *args)
{
    static double map[MOST_RANK * MOST_KEY], wide[MOST_KEY * LD], expected[MOST_RANK * LD];
    const struct attn_reference_sizes sizes = {args->n_rank, args->n_key, args->n_col};

    project(args);
    attn_reference_widen(args->map, args->n_rank * args->n_key, map);
    attn_reference_widen(args->x, args->n_key * args->n_col, wide);
    attn_reference_linear(map, wide, NULL, &sizes, expected);
    attn_assert_near("projected", y, expected, args->n_rank * args->n_col, 2e-6);
}

START_TEST(products_are_those_of_double_precision)
{
    each_size(compare_with_double);
}
END_TEST

/* Once with every engine, once between other heads' columns. */
static void compare_ways(const struct attn_lowrank_args *args)
{
    static float beside[MOST_KEY * LD];
    struct attn_lowrank_args other = *args;

    project(args);
    other.y = z;
    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (int how = ATTN_GEMM_JIT; how <= ATTN_GEMM_PORTABLE; how++) {
            const struct attn_gemm_engine engine =
                attn_gemm_engine_start((enum attn_gemm)how, (enum attn_isa)isa, 0);

            other.engine = &engine;
            project(&other);
            attn_assert_same_bits("engine", z, y, args->n_rank * args->n_col);
        }
    for (size_t i = 0; i < COUNT(beside); i++)
        beside[i] = NAN;
    for (size_t i = 0; i < COUNT(z); i++)
        z[i] = 1234;
    for (size_t i = 0; i < args->n_key; i++)
        memcpy(beside + i * LD + 2, x + i * args->n_col, args->n_col * sizeof *x);
    other = *args;
    other.x = beside + 2;
    other.y = z + 1;
    other.ldx = other.ldy = LD;
    project(&other);
    for (size_t r = 0; r < args->n_rank; r++) {
        ck_assert(z[r * LD] == 1234 && z[r * LD + 1 + args->n_col] == 1234);
        attn_assert_same_bits("beside", z + r * LD + 1, y + r * args->n_col, args->n_col);
    }
}

START_TEST(products_are_the_same_bits_from_every_engine_and_in_any_layout)
{
    each_size(compare_ways);
}
END_TEST

ATTN_SUITE("attention: low-rank", projections_are_those_of_pytorch,
           a_projection_keeps_lengths_on_average, products_are_those_of_double_precision,
           products_are_the_same_bits_from_every_engine_and_in_any_layout)
