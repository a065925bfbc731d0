/*
 * test_gemm_bf16x3.c - products of numbers in two parts: how numbers are split, the same bits from
 * weights of any type and for any range of columns, and what becomes of extreme numbers. How near the
 * products are, packed or not, is in test_gemm_bf16.c.
 */
#include "base/memory.h"
#include "kernels/linear.h"
#include "kernels/panels.h"
#include "tests/support/emulated_tiles.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool is_bfloat(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (bits & 0xffff) == 0;
}

START_TEST(a_number_is_the_sum_of_its_parts)
{
    static const float cases[] = {1,
                                  -2,
                                  0x1.01p0F,
                                  -0x1.0101p0F,
                                  0x1.fffffep-1F,
                                  0,
                                  -0.0F,
                                  0x1p-149F,
                                  -0x1.8p-133F,
                                  FLT_MIN,
                                  0x1.fffffep-126F,
                                  0x1.fep127F,
                                  0x1.fefffep127F,
                                  0x1.ffp127F,
                                  -0x1.ff0002p127F,
                                  FLT_MAX,
                                  -FLT_MAX,
                                  1e-30F,
                                  3e38F};
    enum { N_CASE = sizeof cases / sizeof *cases };

    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t n = 1; n <= N_CASE; n++) {
            float high[N_CASE + 1], low[N_CASE + 1];

            high[n] = low[n] = -7;
            attn_kernels_find((enum attn_isa)isa)->split_bf16(cases, n, high, low);
            for (size_t i = 0; i < n; i++) {
                ck_assert(is_bfloat(high[i]) && high[i] + low[i] == cases[i]);
                ck_assert_double_eq((double)high[i] + (double)low[i], (double)cases[i]);
                /* half a unit in the eighth place; a whole one where it would become infinite */
                ck_assert_double_le(fabs((double)low[i]),
                                    fmax(fabs((double)cases[i]) * 0x1p-8, 0x1p-134));
            }
            ck_assert(high[n] == -7 && low[n] == -7);
        }
}
END_TEST

START_TEST(what_is_not_finite_lies_in_the_low_part)
{
    const float cases[] = {INFINITY, -INFINITY, NAN, -NAN};

    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            float high, low;

            attn_kernels_find((enum attn_isa)isa)->split_bf16(&cases[i], 1, &high, &low);
            ck_assert(high == 0 && (isnan(cases[i]) ? isnan(low) : low == cases[i]));
        }
}
END_TEST

/* y [N_ROW, N_OUT] = x w. */
enum { N_ROW = 5, N_IN = 2060, N_OUT = 150 };

struct map {
    struct attn_gemm_engine engine;
    struct attn_matrix weight;
    const float *x;
    size_t first_col, last_col;
    float y[N_ROW * N_OUT]; /* [N_ROW, last_col - first_col] */
    atomic_bool is_violated;
};

/* libxsmm, our loop, and tiles as a processor with AMX has them. */
enum { N_ENGINE = 3 };

static struct attn_gemm_engine engine_of(int i)
{
    struct attn_gemm_engine engine = attn_gemm_engine_start(
        i == 1 ? ATTN_GEMM_PORTABLE : ATTN_GEMM_JIT, ATTN_ISA_BEST, (double)INFINITY);

    engine.tiles = i == 2 ? &attn_emulated_tiles : NULL;
    return engine;
}

static struct map map_of(int engine, const void *w, enum attn_dtype dtype, const float *x)
{
    return (struct map){.engine = engine_of(engine),
                        .weight = {w, dtype, N_IN, N_OUT, N_OUT, 1, N_OUT, 0, false},
                        .x = x,
                        .last_col = N_OUT};
}

static void run_map(struct map *map)
{
    const struct attn_linear linear = {.weight = map->weight};
    const enum attn_compute compute = ATTN_COMPUTE_BF16X3;
    float *scratch = attn_alloc(attn_linear_scratch(&linear), sizeof *scratch, NULL);
    uint16_t *rounded =
        attn_alloc(attn_linear_rounded(&linear, compute), N_ROW * sizeof *rounded, NULL);

    ck_assert(scratch != NULL && rounded != NULL);
    attn_linear_run(&(struct attn_linear_args){.linear = &linear,
                                               .engine = &map->engine,
                                               .scratch = &scratch,
                                               .x = map->x,
                                               .ldx = map->weight.n_row,
                                               .n_row = N_ROW,
                                               .compute = compute,
                                               .rounded = rounded,
                                               .y = map->y,
                                               .ldy = map->last_col - map->first_col,
                                               .first_col = map->first_col,
                                               .last_col = map->last_col,
                                               .is_violated = &map->is_violated},
                    1, NULL);
    attn_free(rounded), attn_free(scratch);
}

static float w[N_IN * N_OUT], x[N_ROW * N_IN];
static uint16_t halves[N_IN * N_OUT];

static void fill_inputs(void)
{
    attn_reference_fill(w, (size_t)N_IN * N_OUT, 1, 11);
    attn_reference_fill(x, (size_t)N_ROW * N_IN, 1, 12);
}

/* The low parts of what is stored in bfloat16 are 0, and nothing is multiplied by them. */
START_TEST(weights_in_bfloat16_give_the_bits_of_the_same_in_float32)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    fill_inputs();
    kernels->round_bf16(w, (size_t)N_IN * N_OUT, halves);
    kernels->convert(halves, ATTN_DTYPE_BF16, (size_t)N_IN * N_OUT, w);
    ck_assert_uint_eq(attn_panel_n_plane(ATTN_DTYPE_BF16, ATTN_COMPUTE_BF16X3), 1);
    ck_assert_uint_eq(attn_panel_n_plane(ATTN_DTYPE_F32, ATTN_COMPUTE_BF16X3), 2);
    for (int engine = 0; engine < N_ENGINE; engine++) {
        static struct map wide, narrow;

        wide = map_of(engine, w, ATTN_DTYPE_F32, x);
        narrow = map_of(engine, halves, ATTN_DTYPE_BF16, x);
        run_map(&wide);
        run_map(&narrow);
        attn_assert_same_bits("stored", narrow.y, wide.y, (size_t)N_ROW * N_OUT);
    }
}
END_TEST

START_TEST(a_range_of_columns_has_the_bits_of_the_whole)
{
    static const size_t ranges[][2] = {{0, 15}, {64, 128}, {70, 71}, {3, 100}, {140, 150}};

    fill_inputs();
    for (int engine = 0; engine < N_ENGINE; engine++) {
        static struct map all, some;

        all = map_of(engine, w, ATTN_DTYPE_F32, x);
        run_map(&all);
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            some = map_of(engine, w, ATTN_DTYPE_F32, x);
            some.first_col = ranges[r][0];
            some.last_col = ranges[r][1];
            run_map(&some);
            for (size_t i = 0; i < N_ROW; i++)
                attn_assert_same_bits("columns", some.y + i * (some.last_col - some.first_col),
                                      all.y + i * N_OUT + some.first_col,
                                      some.last_col - some.first_col);
        }
    }
}
END_TEST

/* What OF_X OF_W is, as a row among others. No other number is 0, which times infinity is NaN. */
static float multiply(int engine, float of_x, float of_w)
{
    static struct map map;
    const float tiny_x[N_ROW * 2] = {1, 1, 1, 1, 1, of_x, 1, 1, 1, 1};
    float tiny_w[2 * N_OUT];

    for (size_t i = 0; i < (size_t)2 * N_OUT; i++)
        tiny_w[i] = i < N_OUT ? 0x1p-126F : i == N_OUT + 40 ? of_w : 1;
    map = map_of(engine, tiny_w, ATTN_DTYPE_F32, tiny_x);
    map.weight.n_row = 2;
    run_map(&map);
    for (size_t i = 0; i < (size_t)N_ROW * N_OUT; i++) /* others are not touched */
        ck_assert(i / N_OUT == 2 || i % N_OUT == 40 || fabsf(map.y[i] - 1) < 1e-6F);
    ck_assert(map.is_violated == !map.engine.kernels->is_finite(map.y, (size_t)N_ROW * N_OUT));
    return map.y[2 * N_OUT + 40];
}

START_TEST(extreme_numbers_become_what_they_do_in_float32)
{
    static const float numbers[] = {INFINITY,  -INFINITY, NAN,     0x1.fffp127F, -0x1.ffp127F,
                                    3e38F,     0.5F,      -0.7F,   1e-10F,       -1,
                                    0x1.01p0F, 3e-38F,    -1e-36F, 0x1p-100F,    1.5F};
    enum { N = sizeof numbers / sizeof *numbers };

    for (int engine = 0; engine < N_ENGINE; engine++)
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                const double exact = (double)numbers[i] * (double)numbers[j];
                const float expected = numbers[i] * numbers[j];
                const float y = multiply(engine, numbers[i], numbers[j]);

                /* two that are infinite meet in the parts that are left out */
                if (isinf(numbers[i]) && isinf(numbers[j]))
                    ck_assert(isnan(y));
                else if (isnan(expected))
                    ck_assert(isnan(y));
                else if (isinf(numbers[i]) || isinf(numbers[j]))
                    ck_assert(y == expected);
                else if (isinf(expected)) /* whatever overflows first */
                    ck_assert(!isfinite(y));
                else /* parts below FLT_MIN may count as 0 */
                    ck_assert_double_le(
                        fabs((double)y - exact),
                        fabs(exact) * 0x1p-15 +
                            0x1p-125 * (1 + fabs((double)numbers[i]) + fabs((double)numbers[j])));
            }
}
END_TEST

ATTN_SUITE("gemm: bfloat16 in two parts", a_number_is_the_sum_of_its_parts,
           what_is_not_finite_lies_in_the_low_part,
           weights_in_bfloat16_give_the_bits_of_the_same_in_float32,
           a_range_of_columns_has_the_bits_of_the_whole,
           extreme_numbers_become_what_they_do_in_float32)
