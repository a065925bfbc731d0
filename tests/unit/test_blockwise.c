/*
 * test_blockwise.c - attention over blocks of keys: the golden numbers, dense attention, and the
 * same bits in any tile, for any number of keys behind, from every engine.
 */
#include "attention/engines_internal.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One head with its keys packed. */
struct head {
    struct attn_head_shape shape;
    struct attn_gemm_engine engine;
    bool is_causal;
    float scale;
    size_t n;     /* keys, and queries */
    float *q, *v; /* [n, d_head], [n, d_value] */
    float *k;     /* [n, d_head] */
    struct attn_kv kv;
    float *z; /* [n, d_value] */
};

static float *allocate(size_t n)
{
    float *x = calloc(n, sizeof *x);

    ck_assert_ptr_nonnull(x);
    return x;
}

static struct attn_gemm_engine portable(void)
{
    return attn_gemm_engine_start(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST, 0);
}

static void write_keys(const struct head *head)
{
    const struct attn_kv_rows rows = {.k = head->k,
                                      .ldk = head->shape.d_head,
                                      .v = head->v,
                                      .ldv = head->shape.d_value,
                                      .n = head->n};

    attn_kv_write_values(&head->kv, &head->shape, &rows);
    head->engine.kernels->pack_keys(rows.k, rows.ldk, rows.n, head->shape.d_head, 0, head->kv.keys);
}

static struct head make(size_t n, size_t d_head, size_t d_value)
{
    struct head head = {.shape = {.d_head = d_head, .d_value = d_value, .n_max = n, .ldq = d_head},
                        .engine = portable(),
                        .scale = 1 / sqrtf((float)d_head),
                        .n = n,
                        .q = allocate(n * d_head),
                        .k = allocate(n * d_head),
                        .v = allocate(n * d_value),
                        .z = allocate(n * d_value)};

    head.kv.keys = allocate(attn_kv_keys_size(&head.shape));
    head.kv.values = allocate(attn_kv_values_size(&head.shape));
    attn_reference_fill(head.q, n * d_head, 2, n);
    attn_reference_fill(head.k, n * d_head, 2, n + 1);
    attn_reference_fill(head.v, n * d_value, 1, n + 2);
    write_keys(&head);
    return head;
}

static void release(struct head *head)
{
    float *const all[] = {head->q, head->k, head->v, head->z, head->kv.keys, head->kv.values};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static struct attn_attention attention_of(const struct head *head)
{
    struct attn_attention attention = ATTN_ATTENTION_DEFAULT;

    attention.mask = head->is_causal ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
    attention.is_scaled = false;
    attention.factor = (double)head->scale;
    return attention;
}

/* Rows first .. first+n_row-1 against N_KEY keys, into their place in head->z. */
static void run_tile(const struct head *head, size_t first, size_t n_row, size_t n_key)
{
    float *scratch = allocate(attn_blockwise_scratch(&head->shape));
    const struct attn_attention attention = attention_of(head);
    const struct attn_layer_feed feed = {
        .attention = &attention, .shape = &head->shape, .ldz = head->shape.d_value};
    const struct attn_tile tile = {
        .feed = &feed,
        .row0 = first,
        .n_row = n_row,
        .n_key = n_key,
        .q = head->q + first * head->shape.d_head,
        .kv = &head->kv,
        .z = head->z + first * head->shape.d_value,
    };

    attn_blockwise_run(&head->engine, &tile, scratch);
    free(scratch);
}

static void run_rows(const struct head *head, size_t first, size_t n_row)
{
    for (size_t row = first; row < n_row; row += ATTN_QUERY_TILE)
        run_tile(head, row, n_row - row < ATTN_QUERY_TILE ? n_row - row : ATTN_QUERY_TILE, head->n);
}

/* z of the same rows by its definition, in double. */
static void expect_row(const struct head *head, size_t row, double *z)
{
    const size_t d_head = head->shape.d_head, d_value = head->shape.d_value;
    const size_t n = head->is_causal ? row + 1 : head->n;
    double *weights = calloc(n, sizeof *weights);

    ck_assert_ptr_nonnull(weights);
    for (size_t j = 0; j < n; j++)
        for (size_t e = 0; e < d_head; e++)
            weights[j] += (double)head->q[row * d_head + e] * (double)head->k[j * d_head + e];
    attn_reference_softmax(weights, n, n, (double)head->scale);
    for (size_t c = 0; c < d_value; c++) {
        z[c] = 0;
        for (size_t j = 0; j < n; j++)
            z[c] += weights[j] * (double)head->v[j * d_value + c];
    }
    free(weights);
}

static float *read_golden(const char *name, size_t n)
{
    char path[128];
    size_t n_read;
    float *x;

    snprintf(path, sizeof path, "tests/golden/001_blockwise.npz/%s.npy", name);
    x = attn_npy_load_floats(path, &n_read);
    ck_assert_uint_eq(n_read, n);
    return x;
}

static void take_golden(const char *name, float *x, size_t n)
{
    float *golden = read_golden(name, n);

    memcpy(x, golden, n * sizeof *x);
    free(golden);
}

static void assert_golden(const char *name, const float *x, size_t n)
{
    struct attn_npy array;
    char path[128];

    snprintf(path, sizeof path, "tests/golden/001_blockwise.npz/%s.npy", name);
    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    ck_assert_uint_eq(array.n, n);
    attn_assert_near(name, x, array.values, n, 2e-6);
    attn_npy_release(&array);
}

enum { GOLDEN_N = 12, GOLDEN_BLOCK = 5 };

/* The running maximum and sum, in the golden file's blocks of 5 keys. */
static void run_golden_blocks(const struct head *head, float *max, float *sum)
{
    for (size_t i = 0; i < GOLDEN_N; i++) {
        struct attn_running_softmax running = ATTN_RUNNING_SOFTMAX_START;
        float row[GOLDEN_N] = {0};

        for (size_t j = 0; j < GOLDEN_N; j++)
            for (size_t e = 0; e < head->shape.d_head; e++)
                row[j] += head->q[i * head->shape.d_head + e] * head->k[j * head->shape.d_head + e];
        for (size_t j = 0; j < GOLDEN_N; j += GOLDEN_BLOCK) {
            const size_t n = GOLDEN_N - j < GOLDEN_BLOCK ? GOLDEN_N - j : GOLDEN_BLOCK;

            head->engine.kernels->softmax_block(row + j, n, n, head->scale, &running);
        }
        max[i] = running.max;
        sum[i] = running.sum;
    }
}

START_TEST(the_golden_numbers_are_reproduced)
{
    struct head head = make(GOLDEN_N, 8, 6);
    float max[GOLDEN_N], sum[GOLDEN_N];

    take_golden("q", head.q, (size_t)GOLDEN_N * 8);
    take_golden("k", head.k, (size_t)GOLDEN_N * 8);
    take_golden("v", head.v, (size_t)GOLDEN_N * 6);
    write_keys(&head);
    run_rows(&head, 0, GOLDEN_N);
    assert_golden("output", head.z, (size_t)GOLDEN_N * 6);
    run_golden_blocks(&head, max, sum);
    assert_golden("running_max", max, GOLDEN_N);
    assert_golden("running_sum", sum, GOLDEN_N);
    release(&head);
}
END_TEST

/* Keys around the ends of panels and blocks; values of every kind of panel. */
static const size_t some_n[] = {1, 31, 63, 64, 65, 511, 512, 513, 577, 1100};
static const size_t some_widths[][2] = {{1, 1}, {3, 5}, {16, 17}, {64, 64}, {33, 130}};
enum {
    N_SOME = sizeof some_n / sizeof *some_n,
    N_WIDTHS = sizeof some_widths / sizeof *some_widths
};

START_TEST(z_is_that_of_double_precision)
{
    for (size_t s = 0; s < N_SOME; s++)
        for (size_t w = 0; w < N_WIDTHS; w++)
            for (int is_causal = 0; is_causal < 2; is_causal++) {
                struct head head = make(some_n[s], some_widths[w][0], some_widths[w][1]);
                double z[130];

                head.is_causal = is_causal;
                run_rows(&head, 0, head.n);
                for (size_t row = 0; row < head.n; row += row % 64 == 0 ? 1 : 21) {
                    expect_row(&head, row, z);
                    attn_assert_near("z", head.z + row * head.shape.d_value, z, head.shape.d_value,
                                     5e-7);
                }
                release(&head);
            }
}
END_TEST

/* z of the tile of 32 rows from FIRST on, by dense attention. */
static void run_dense(const struct head *head, size_t first, float *z)
{
    const struct attn_attention attention = attention_of(head);
    const struct attn_layer_feed feed = {
        .attention = &attention, .shape = &head->shape, .ldz = head->shape.d_value};
    float *scratch = allocate(attn_dense_scratch(&head->shape, &attention));
    struct attn_dense dense;
    const struct attn_tile tile = {
        .feed = &feed,
        .row0 = first,
        .n_row = ATTN_QUERY_TILE,
        .n_key = head->n,
        .q = head->q + first * head->shape.d_head,
        .kv = &head->kv,
        .z = z,
    };

    attn_dense_plan(&dense, &head->engine, &head->shape, false, ATTN_QUERY_TILE);
    attn_dense_run(&dense, &tile, scratch);
    free(scratch);
}

START_TEST(rows_of_8192_tokens_equal_dense_ones)
{
    enum { N = 8192, D = 64 };
    static const size_t firsts[] = {0, 480, 4096, N - ATTN_QUERY_TILE};
    struct head head = make(N, D, D);
    float z[ATTN_QUERY_TILE * D];
    double wide[ATTN_QUERY_TILE * D];

    for (int is_causal = 0; is_causal < 2; is_causal++)
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            head.is_causal = is_causal;
            run_tile(&head, firsts[f], ATTN_QUERY_TILE, N);
            run_dense(&head, firsts[f], z);
            attn_reference_widen(z, (size_t)ATTN_QUERY_TILE * D, wide);
            attn_assert_near("z", head.z + firsts[f] * D, wide, (size_t)ATTN_QUERY_TILE * D, 3e-7);
        }
    release(&head);
}
END_TEST

START_TEST(memory_does_not_grow_with_the_number_of_keys)
{
    const struct attn_head_shape few = {.d_head = 64, .d_value = 64, .n_max = 1, .ldq = 64};
    const struct attn_head_shape many = {.d_head = 64, .d_value = 64, .n_max = 1000000, .ldq = 64};

    ck_assert_uint_eq(attn_blockwise_scratch(&few), attn_blockwise_scratch(&many));
}
END_TEST

START_TEST(a_row_is_the_same_bits_in_any_tile_and_with_any_keys_behind)
{
    for (int is_causal = 0; is_causal < 2; is_causal++) {
        struct head head = make(1100, 24, 20);
        float *z = allocate(1100 * 20);

        head.is_causal = is_causal;
        run_rows(&head, 0, head.n);
        memcpy(z, head.z, 1100 * 20 * sizeof *z);
        for (size_t n_row = 1; n_row < ATTN_QUERY_TILE; n_row += 5)
            for (size_t row = 0, n; row < head.n; row += n) {
                n = head.n - row < n_row ? head.n - row : n_row;
                run_tile(&head, row, n, is_causal ? row + n : head.n);
            }
        attn_assert_same_bits("z", head.z, z, 1100 * 20);
        free(z);
        release(&head);
    }
}
END_TEST

START_TEST(every_engine_gives_the_same_bits)
{
    for (size_t w = 0; w < N_WIDTHS; w++) {
        struct head head = make(577, some_widths[w][0], some_widths[w][1]);
        const size_t n = head.n * head.shape.d_value;
        float *z = allocate(n);

        head.is_causal = true;
        run_rows(&head, 0, head.n);
        memcpy(z, head.z, n * sizeof *z);
        for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
            for (int how = ATTN_GEMM_JIT; how <= ATTN_GEMM_PORTABLE; how++) {
                head.engine = attn_gemm_engine_start((enum attn_gemm)how, (enum attn_isa)isa, 0);
                memset(head.z, 0, n * sizeof *z);
                run_rows(&head, 0, head.n);
                attn_assert_same_bits("z", head.z, z, n);
            }
        free(z);
        release(&head);
    }
}
END_TEST

START_TEST(a_lone_key_gives_its_value_exactly)
{
    struct head head = make(600, 5, 7);

    head.is_causal = true;
    run_tile(&head, 0, 1, 600);
    attn_assert_same_bits("first row", head.z, head.v, 7);
    release(&head);
}
END_TEST

START_TEST(rows_without_any_allowed_key_are_zeros)
{
    struct head head = make(600, 5, 7);

    for (size_t i = 0; i < (size_t)600 * 5; i++)
        head.k[i] = 1;
    head.q[0] = -INFINITY; /* the scores of row 0 are -inf, of row 1 only to the last 100 keys */
    for (size_t j = 0; j < 600; j++)
        head.k[j * 5 + 4] = j < 500 ? 0x1p-127F : 1;
    head.q[5 + 4] = -3e38F;
    head.scale = 10;
    write_keys(&head);
    run_tile(&head, 0, 3, 600);
    for (size_t c = 0; c < 7; c++) {
        double mean = 0;

        for (size_t j = 0; j < 500; j++)
            mean += (double)head.v[j * 7 + c] / 500;
        ck_assert(head.z[c] == 0 && !signbit(head.z[c]));
        ck_assert_double_eq_tol((double)head.z[7 + c], mean, 1e-6);
        ck_assert(isfinite(head.z[14 + c]) && head.z[14 + c] != 0);
    }
    head.z[0] = 1;
    run_tile(&head, 0, 1, 0); /* no keys at all */
    ck_assert(head.z[0] == 0);
    release(&head);
}
END_TEST

START_TEST(nan_reaches_the_rows_that_see_it_and_no_others)
{
    struct head head = make(600, 5, 7);
    const float nan = NAN;

    head.is_causal = true;
    head.k[530 * 5] = -NAN;
    write_keys(&head);
    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
        head.engine = attn_gemm_engine_start(ATTN_GEMM_PORTABLE, (enum attn_isa)isa, 0);
        run_rows(&head, 0, head.n);
        for (size_t i = 0; i < (size_t)530 * 7; i++)
            ck_assert(isfinite(head.z[i]));
        for (size_t i = (size_t)530 * 7; i < (size_t)600 * 7; i++)
            attn_assert_same_bits("a row that sees it", &head.z[i], &nan, 1);
    }
    release(&head);
}
END_TEST

START_TEST(zeros_have_no_sign)
{
    struct head head = make(2, 1, 1);

    memset(head.q, 0, 2 * sizeof *head.q);
    head.v[0] = -0x1p-149F; /* half of it rounds to -0 */
    head.v[1] = 0;
    write_keys(&head);
    run_tile(&head, 0, 1, 2);
    ck_assert(head.z[0] == 0 && !signbit(head.z[0]));
    release(&head);
}
END_TEST

ATTN_SUITE("attention: blockwise", the_golden_numbers_are_reproduced, z_is_that_of_double_precision,
           rows_of_8192_tokens_equal_dense_ones, memory_does_not_grow_with_the_number_of_keys,
           a_row_is_the_same_bits_in_any_tile_and_with_any_keys_behind,
           every_engine_gives_the_same_bits, a_lone_key_gives_its_value_exactly,
           rows_without_any_allowed_key_are_zeros, nan_reaches_the_rows_that_see_it_and_no_others,
           zeros_have_no_sign)
