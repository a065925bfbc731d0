/*
 * test_attention_bf16.c - exact attention in bfloat16, by every kind of product there is: of which
 * numbers it is the attention, and the same bits in any tile and in any number of writes.
 */
#include "attention/engines_internal.h"
#include "tests/support/emulated_tiles.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_N = 131, MOST_WIDTH = 130 };

/* One head, causal, with what a run of all its rows gives. */
struct head {
    struct attn_head_shape shape;
    struct attn_gemm_engine engine;
    size_t n;
    float q[MOST_N * MOST_WIDTH], k[MOST_N * MOST_WIDTH], v[MOST_N * MOST_WIDTH];
    struct attn_kv kv;
    float qk[MOST_N * MOST_N], pattern[MOST_N * MOST_N], z[MOST_N * MOST_WIDTH];
};

static float *allocate(size_t n)
{
    float *x = calloc(n, sizeof *x);

    ck_assert_ptr_nonnull(x);
    return x;
}

/* What nobody should read before something is written there. */
static float *allocate_nan(size_t n)
{
    float *x = allocate(n);

    memset(x, 0xff, n * sizeof *x);
    return x;
}

/* The processor's tiles in plain C, the portable loop, and libxsmm. */
enum product { TILES, LOOP, JIT };

static struct attn_gemm_engine find_engine(enum product product)
{
    struct attn_gemm_engine engine = attn_gemm_engine_start(
        product == JIT ? ATTN_GEMM_JIT : ATTN_GEMM_PORTABLE, ATTN_ISA_BEST, 0);

    engine.tiles = product == TILES ? &attn_emulated_tiles : NULL;
    return engine;
}

static struct head *make(enum product product, size_t n, size_t d_head, size_t d_value)
{
    static struct head head;

    memset(&head, 0, sizeof head);
    head.engine = find_engine(product);
    head.shape = (struct attn_head_shape){
        .d_head = d_head, .d_value = d_value, .n_max = n, .ldq = d_head, .is_bf16 = true};
    head.n = n;
    attn_reference_fill(head.q, n * d_head, 2, n);
    attn_reference_fill(head.k, n * d_head, 2, n + 1);
    attn_reference_fill(head.v, n * d_value, 1, n + 2);
    head.kv.keys = allocate(attn_kv_keys_size(&head.shape));
    head.kv.values = allocate(attn_kv_values_size(&head.shape));
    attn_kv_clear(&head.kv, &head.shape, 1);
    return &head;
}

static void release(struct head *head)
{
    free(head->kv.keys);
    free(head->kv.values);
}

static void write_rows(const struct head *head, size_t first, size_t n)
{
    const size_t d_head = head->shape.d_head, d_value = head->shape.d_value;
    const struct attn_kv_rows rows = {.k = head->k + first * d_head,
                                      .v = head->v + first * d_value,
                                      .ldk = d_head,
                                      .ldv = d_value,
                                      .first = first,
                                      .n = n};
    float *scratch = allocate_nan(attn_kv_rounding_scratch(&head->shape));

    attn_kv_write_rounded(&head->kv, head->engine.kernels, &head->shape, &rows, scratch);
    free(scratch);
}

/* Rows first .. first+n_row-1 beside N_KEY keys, each into its place. */
static void run_tile(struct head *head, size_t first, size_t n_row, size_t n_key)
{
    const struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
    const struct attn_layer_feed feed = {
        .attention = &attention, .shape = &head->shape, .ldz = head->shape.d_value};
    float *scratch = allocate_nan(attn_dense_scratch(&head->shape, &attention));
    struct attn_dense dense;
    const struct attn_tile tile = {
        .feed = &feed,
        .row0 = first,
        .n_row = n_row,
        .n_key = n_key,
        .q = head->q + first * head->shape.d_head,
        .kv = &head->kv,
        .watched = {.sites = {[0] = head->qk + first * head->n,
                              [ATTN_SITE_PATTERN - ATTN_SITE_QK] = head->pattern + first * head->n},
                    .ld = head->n},
        .z = head->z + first * head->shape.d_value,
    };

    attn_dense_plan(&dense, &head->engine, &head->shape, true, n_row);
    attn_dense_run(&dense, &tile, scratch);
    free(scratch);
    ck_assert(attn_emulated_tiles_are_released());
}

static void run_rows(struct head *head)
{
    for (size_t row = 0, n; row < head->n; row += n) {
        n = head->n - row < ATTN_QUERY_TILE ? head->n - row : ATTN_QUERY_TILE;
        run_tile(head, row, n, head->n);
    }
}

static double rounded(const struct head *head, float x)
{
    uint16_t half;

    head->engine.kernels->round_bf16(&x, 1, &half);
    return attn_reference_bfloat(half);
}

/* The sum over n of a[i * step_a] * b[i * step_b], all rounded, and of its terms without a sign. */
static double sum_rounded(const struct head *head, const float *a, const float *b, size_t step_b,
                          size_t n, double *size)
{
    double sum = 0;

    *size = 0;
    for (size_t i = 0; i < n; i++) {
        const double term = rounded(head, a[i]) * rounded(head, b[i * step_b]);

        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static void check_row(const struct head *head, size_t row)
{
    const size_t d_head = head->shape.d_head, d_value = head->shape.d_value;
    const float *pattern = head->pattern + row * head->n;
    double softmax[MOST_N], size;

    for (size_t j = 0; j < head->n; j++) {
        const double qk =
            sum_rounded(head, head->q + row * d_head, head->k + j * d_head, 1, d_head, &size);

        ck_assert_double_le(fabs((double)head->qk[row * head->n + j] - qk),
                            size * (double)(d_head + 1) * 0x1p-24);
        softmax[j] = (double)head->qk[row * head->n + j];
    }
    attn_reference_softmax(softmax, row + 1, head->n, 1 / sqrt((double)d_head));
    attn_assert_near("pattern", pattern, softmax, head->n, 5e-7);
    for (size_t c = 0; c < d_value; c++) {
        const double z = sum_rounded(head, pattern, head->v + c, d_value, row + 1, &size);

        ck_assert_double_le(fabs((double)head->z[row * d_value + c] - z),
                            size * (double)(row + 2) * 0x1p-24);
    }
}

static const size_t some_n[] = {1, 2, 31, 33, 64, 65, 131};
static const size_t some_widths[][2] = {{1, 1}, {3, 5}, {16, 17}, {64, 64}, {33, 130}, {80, 80}};
enum {
    N_SOME = sizeof some_n / sizeof *some_n,
    N_WIDTHS = sizeof some_widths / sizeof *some_widths,
};

static void check_numbers(enum product product)
{
    for (size_t w = 0; w < N_WIDTHS; w++)
        for (size_t s = 0; s < N_SOME; s++) {
            struct head *head = make(product, some_n[s], some_widths[w][0], some_widths[w][1]);

            write_rows(head, 0, head->n);
            run_rows(head);
            for (size_t row = 0; row < head->n; row += row % 32 == 0 ? 1 : 15)
                check_row(head, row);
            release(head);
        }
}

START_TEST(rounded_numbers_are_multiplied_and_summed_in_float32)
{
    check_numbers(TILES);
    check_numbers(LOOP);
}
END_TEST

/* The z of HEAD when its rows come STEP at a time, one feed after the other. */
static void feed_in_steps(struct head *head, size_t step)
{
    memset(head->z, 0, sizeof head->z);
    for (size_t row = 0, n; row < head->n; row += n) {
        n = head->n - row < step ? head->n - row : step;
        write_rows(head, row, n);
        run_tile(head, row, n, row + n);
    }
}

static void check_feeds(enum product product)
{
    static const size_t steps[] = {1, 2, 7, 32};
    static float z[MOST_N * MOST_WIDTH];

    for (size_t w = 0; w < N_WIDTHS; w++) {
        struct head *head = make(product, MOST_N, some_widths[w][0], some_widths[w][1]);

        write_rows(head, 0, head->n);
        run_rows(head);
        memcpy(z, head->z, sizeof z);
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            attn_kv_clear(&head->kv, &head->shape, 1);
            feed_in_steps(head, steps[s]);
            attn_assert_same_bits("z", head->z, z, MOST_N * head->shape.d_value);
        }
        release(head);
    }
}

START_TEST(a_row_is_the_same_bits_in_any_feed)
{
    check_feeds(TILES);
    check_feeds(LOOP);
}
END_TEST

START_TEST(libxsmm_does_both)
{
    if (!find_engine(JIT).is_jit_bf16) {
        attn_skip_test("libxsmm has no products in bfloat16 here");
        return;
    }
    check_numbers(JIT);
    check_feeds(JIT);
}
END_TEST

/* Takes back a row N of infinities, whose product with any weight is not finite, and feeds what
 * followed again. */
static void check_rewound(struct head *head, size_t n, const float *z)
{
    const size_t d = head->shape.d_value;

    attn_kv_erase(&head->kv, &head->shape, n, head->n);
    for (size_t i = 0; i < d; i++)
        head->v[n * d + i] = INFINITY;
    write_rows(head, n, 1);
    attn_kv_erase(&head->kv, &head->shape, n, n + 1);
    run_tile(head, n - 1, 1, n);
    attn_assert_same_bits("z", head->z + (n - 1) * d, z + (n - 1) * d, d);

    attn_reference_fill(head->v, head->n * d, 1, head->n + 2);
    write_rows(head, n, head->n - n);
    run_rows(head);
    attn_assert_same_bits("z", head->z, z, head->n * d);
}

START_TEST(what_is_erased_leaves_nothing)
{
    struct head *head = make(LOOP, 70, 16, 33);
    const size_t n = 70 * 33;
    float z[70 * 33];

    write_rows(head, 0, head->n);
    run_rows(head);
    memcpy(z, head->z, sizeof z);
    check_rewound(head, 41, z);
    check_rewound(head, 40, z);

    /* A layer in float32 that had the same memory. */
    attn_kv_set_bf16(&head->kv, &head->shape, false);
    for (size_t i = 0; i < attn_kv_values_size(&head->shape); i++)
        head->kv.values[i] = NAN;
    attn_kv_set_bf16(&head->kv, &head->shape, true);
    write_rows(head, 0, head->n);
    memset(head->z, 0, sizeof head->z);
    run_rows(head);
    attn_assert_same_bits("z", head->z, z, n);
    release(head);
}
END_TEST

ATTN_SUITE("attention: bfloat16", rounded_numbers_are_multiplied_and_summed_in_float32,
           a_row_is_the_same_bits_in_any_feed, libxsmm_does_both, what_is_erased_leaves_nothing)
