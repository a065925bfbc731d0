/*
 * test_linear_attention.c - linear attention: the golden numbers, the state against the matrix in
 * double precision, and the same bits however keys and rows are split.
 */
#include "kinds/linear.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MOST = 150, WIDEST = 70, N_FEATURE = ATTN_FEATURE_EXP + 1 };

/* One head, its inputs and what was computed. */
struct head {
    struct attn_linear_attention linear;
    struct attn_gemm_engine engine;
    bool is_causal;
    size_t n; /* queries, and keys */
    float q[N_MOST * WIDEST], k[N_MOST * WIDEST], v[N_MOST * WIDEST];
    float state[WIDEST * (WIDEST + 1)];
    float divisors[N_MOST], z[N_MOST * WIDEST], pattern[N_MOST * N_MOST];
};

static struct head head, other;
static float features[N_MOST * WIDEST], panels[(N_MOST + 63) / 64 * 64 * WIDEST];
static float scratch[ATTN_QUERY_TILE * (WIDEST + ATTN_PANEL)];
static double expected[N_MOST * N_MOST];

static void use(struct head *h, enum attn_gemm how, enum attn_isa isa)
{
    h->engine = attn_gemm_engine_start(how, isa, 0);
    h->linear.kernels = h->engine.kernels;
    ck_assert_uint_le(attn_linear_attention_scratch(&h->linear), sizeof scratch / sizeof *scratch);
    ck_assert_uint_le(attn_linear_attention_state_size(&h->linear),
                      sizeof h->state / sizeof *h->state);
}

static void add(struct head *h, size_t first, size_t n)
{
    const size_t d_head = h->linear.d_head, d_value = h->linear.d_value;
    const struct attn_kv_rows rows = {.k = h->k + first * d_head,
                                      .ldk = d_head,
                                      .v = h->v + first * d_value,
                                      .ldv = d_value,
                                      .n = n};

    attn_linear_attention_add(&h->linear, &rows, h->state, scratch);
}

/* z of all rows, through the state. */
static void run_rows(struct head *h)
{
    memset(h->state, 0, sizeof h->state);
    if (!h->is_causal)
        add(h, 0, h->n);
    for (size_t i = 0; i < h->n; i++) {
        if (h->is_causal)
            add(h, i, 1);
        h->divisors[i] =
            attn_linear_attention_row(&h->linear, h->state, h->q + i * h->linear.d_head,
                                      h->z + i * h->linear.d_value, scratch);
    }
}

/* The matrix, in tiles of N_ROW rows. */
static void run_pattern(struct head *h, size_t n_row)
{
    const size_t d_head = h->linear.d_head;
    const struct attn_head_shape shape = {.d_head = d_head, .ldq = d_head};
    const struct attn_attention attention = {.mask =
                                                 h->is_causal ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE};
    const struct attn_layer_feed feed = {.attention = &attention, .shape = &shape};

    attn_linear_attention_map(
        &h->linear, &(struct attn_feature_rows){
                        .x = h->k, .ldx = d_head, .n = h->n, .y = features, .ldy = d_head});
    h->linear.kernels->pack_keys(features, d_head, h->n, d_head, 0, panels);
    for (size_t row = 0; row < h->n; row += n_row) {
        const struct attn_tile tile = {
            .feed = &feed,
            .row0 = row,
            .n_row = h->n - row < n_row ? h->n - row : n_row,
            .n_key = h->n,
            .q = h->q + row * d_head,
            .watched = {.sites[ATTN_SITE_PATTERN - ATTN_SITE_QK] = h->pattern + row * h->n,
                        .ld = h->n},
        };

        attn_linear_attention_pattern(&h->linear, &h->engine, &tile, panels, h->divisors + row,
                                      scratch);
    }
}

static void make(struct head *h, size_t n, size_t d_head, size_t d_value)
{
    memset(h, 0, sizeof *h);
    h->n = n;
    h->linear = (struct attn_linear_attention){.d_head = d_head, .d_value = d_value};
    use(h, ATTN_GEMM_PORTABLE, ATTN_ISA_BEST);
    attn_reference_fill(h->q, n * d_head, 2, n);
    attn_reference_fill(h->k, n * d_head, 2, n + 1);
    attn_reference_fill(h->v, n * d_value, 2, n + 2);
}

/* The array NAME of the golden file into x, which must have N values. */
static void read_golden(const char *name, float *x, size_t n)
{
    char path[128];
    size_t n_read;
    float *values;

    snprintf(path, sizeof path, "tests/golden/001_linear_attention.npz/%s.npy", name);
    values = attn_npy_load_floats(path, &n_read);
    ck_assert_uint_eq(n_read, n);
    memcpy(x, values, n * sizeof *x);
    free(values);
}

static void assert_golden(const char *name, const float *x, size_t n)
{
    struct attn_npy array;
    char path[128];

    snprintf(path, sizeof path, "tests/golden/001_linear_attention.npz/%s.npy", name);
    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    ck_assert_uint_eq(array.n, n);
    attn_assert_near(name, x, array.values, n, 2e-6);
    attn_npy_release(&array);
}

START_TEST(the_golden_numbers_are_reproduced)
{
    enum { N = 12, D_HEAD = 8, D_VALUE = 6 };

    make(&head, N, D_HEAD, D_VALUE);
    read_golden("q", head.q, (size_t)N * D_HEAD);
    read_golden("k", head.k, (size_t)N * D_HEAD);
    read_golden("v", head.v, (size_t)N * D_VALUE);
    attn_linear_attention_map(
        &head.linear, &(struct attn_feature_rows){
                          .x = head.q, .ldx = D_HEAD, .n = N, .y = features, .ldy = D_HEAD});
    assert_golden("phi_q", features, (size_t)N * D_HEAD);
    run_rows(&head);
    run_pattern(&head, ATTN_QUERY_TILE);
    assert_golden("phi_k", features, (size_t)N * D_HEAD);
    assert_golden("phi_k_T_v", head.state, (size_t)D_HEAD * D_VALUE);
    assert_golden("normaliser", head.divisors, N);
    assert_golden("output_normalised", head.z, (size_t)N * D_VALUE);
    assert_golden("implied_weights", head.pattern, (size_t)N * N);
    head.is_causal = true;
    run_rows(&head);
    assert_golden("causal_output_normalised", head.z, (size_t)N * D_VALUE);
    head.is_causal = false;
    head.linear.is_raw = true;
    run_rows(&head);
    assert_golden("output_as_in_seed", head.z, (size_t)N * D_VALUE);
}
END_TEST

static double phi(enum attn_feature feature, double x)
{
    switch (feature) {
    case ATTN_FEATURE_ELU:
        return x > 0 ? x + 1 : exp(x);
    case ATTN_FEATURE_RELU:
        return fmax(x, 0) + 1e-6;
    case ATTN_FEATURE_EXP:
        return exp(x);
    }
    return (double)NAN;
}

/* The matrix by its definition, in double, into `expected`. */
static void expect_pattern(const struct head *h)
{
    const size_t d_head = h->linear.d_head;

    for (size_t i = 0; i < h->n; i++) {
        double *row = expected + i * h->n, sum = 0;

        for (size_t j = 0; j < h->n; j++) {
            row[j] = 0;
            for (size_t e = 0; e < d_head && (!h->is_causal || j <= i); e++)
                row[j] += phi(h->linear.feature, (double)h->q[i * d_head + e]) *
                          phi(h->linear.feature, (double)h->k[j * d_head + e]);
            sum += row[j];
        }
        for (size_t j = 0; j < h->n && !h->linear.is_raw; j++)
            row[j] /= sum;
    }
}

/* z [n, d_value] = `expected` v */
static void expect_z(const struct head *h, double *z)
{
    for (size_t i = 0; i < h->n; i++)
        for (size_t c = 0; c < h->linear.d_value; c++) {
            double sum = 0;

            for (size_t j = 0; j < h->n; j++)
                sum += expected[i * h->n + j] * (double)h->v[j * h->linear.d_value + c];
            z[i * h->linear.d_value + c] = sum;
        }
}

/* Calls CHECK for heads of every feature map, raw and not, causal and not, of several sizes. */
static void each_kind(void (*check)(void))
{
    static const size_t sizes[][3] = {
        {1, 1, 1}, {2, 3, 5}, {33, 16, 17}, {65, 64, 64}, {150, 70, 3}};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int which = 0; which < 4 * N_FEATURE; which++) {
            make(&head, sizes[s][0], sizes[s][1], sizes[s][2]);
            head.linear.feature = (enum attn_feature)(which / 4);
            head.linear.is_raw = which & 1;
            head.is_causal = which & 2;
            check();
        }
}

static void compare_with_matrix(void)
{
    static double z[N_MOST * WIDEST];

    run_rows(&head);
    run_pattern(&head, ATTN_QUERY_TILE);
    expect_pattern(&head);
    attn_assert_near("pattern", head.pattern, expected, head.n * head.n, 1e-6);
    expect_z(&head, z);
    for (size_t i = 0; i < head.n; i++) { /* values of up to 2, times the weights of the row */
        const size_t d_value = head.linear.d_value;
        double sum = 0;

        for (size_t j = 0; j < head.n; j++)
            sum += expected[i * head.n + j];
        attn_assert_near("z", head.z + i * d_value, z + i * d_value, d_value, 2e-6 * fmax(sum, 1));
    }
}

START_TEST(the_recurrent_form_equals_the_matrix_form)
{
    each_kind(compare_with_matrix);
}
END_TEST

static void look_at_masked(void)
{
    run_rows(&head);
    run_pattern(&head, ATTN_QUERY_TILE);
    for (size_t i = 0; i < head.n; i++) {
        double sum = 0;

        for (size_t j = 0; j < head.n; j++) {
            const float weight = head.pattern[i * head.n + j];

            ck_assert(head.is_causal && j > i ? weight == 0 : weight > 0);
            sum += (double)weight;
        }
        ck_assert(head.linear.is_raw ? head.divisors[i] == 1 : fabs(sum - 1) < 2e-6);
    }
}

START_TEST(rows_sum_to_one_and_hold_nothing_behind_the_mask)
{
    each_kind(look_at_masked);
}
END_TEST

static void compare_splits(void)
{
    other = head;
    run_rows(&head);
    run_pattern(&head, ATTN_QUERY_TILE);
    /* Keys in other portions: a prefix at once, rows behind it only. */
    memset(other.state, 0, sizeof other.state);
    add(&other, 0, head.n / 2);
    add(&other, head.n / 2, head.n - head.n / 2);
    attn_assert_same_bits("state", other.state, head.state,
                          attn_linear_attention_state_size(&head.linear));
    other.divisors[head.n - 1] = attn_linear_attention_row(
        &other.linear, other.state, other.q + (head.n - 1) * head.linear.d_head, other.z, scratch);
    attn_assert_same_bits("last row", other.z, head.z + (head.n - 1) * head.linear.d_value,
                          head.linear.d_value);
    for (size_t n_row = 1; n_row < ATTN_QUERY_TILE; n_row += 6) {
        memcpy(other.divisors, head.divisors, sizeof head.divisors);
        run_pattern(&other, n_row);
        attn_assert_same_bits("pattern", other.pattern, head.pattern, head.n * head.n);
    }
}

START_TEST(results_do_not_depend_on_how_keys_and_rows_are_split)
{
    each_kind(compare_splits);
}
END_TEST

static void compare_engines(void)
{
    run_rows(&head);
    run_pattern(&head, ATTN_QUERY_TILE);
    other = head;
    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (int how = ATTN_GEMM_JIT; how <= ATTN_GEMM_PORTABLE; how++) {
            use(&other, (enum attn_gemm)how, (enum attn_isa)isa);
            memset(other.z, 0, sizeof other.z);
            run_rows(&other);
            run_pattern(&other, ATTN_QUERY_TILE);
            attn_assert_same_bits("z", other.z, head.z, head.n * head.linear.d_value);
            attn_assert_same_bits("divisors", other.divisors, head.divisors, head.n);
            attn_assert_same_bits("pattern", other.pattern, head.pattern, head.n * head.n);
        }
}

START_TEST(every_engine_gives_the_same_bits)
{
    each_kind(compare_engines);
}
END_TEST

START_TEST(features_that_underflow_give_zeros_and_not_nan)
{
    make(&head, 40, 5, 4);
    head.linear.feature = ATTN_FEATURE_EXP;
    for (size_t i = 0; i < (size_t)40 * 5; i++)
        head.q[i] = i < 20 ? 1 : -200; /* the first four rows see */
    run_rows(&head);
    run_pattern(&head, ATTN_QUERY_TILE);
    for (size_t i = 0; i < 40; i++) {
        ck_assert(i < 4 ? head.divisors[i] > 0 : head.divisors[i] == 0);
        for (size_t c = 0; c < 4; c++)
            ck_assert(i < 4 ? isfinite(head.z[i * 4 + c]) : head.z[i * 4 + c] == 0);
        for (size_t j = 0; j < 40; j++)
            ck_assert(i < 4 ? head.pattern[i * 40 + j] > 0 : head.pattern[i * 40 + j] == 0);
    }
}
END_TEST

START_TEST(zeros_have_no_sign)
{
    make(&head, 2, 1, 1);
    memset(head.q, 0, 2 * sizeof *head.q);
    memset(head.k, 0, 2 * sizeof *head.k);
    head.v[0] = -0x1p-149F; /* half of it rounds to -0 */
    head.v[1] = 0;
    run_rows(&head);
    ck_assert(head.z[0] == 0 && !signbit(head.z[0]));
}
END_TEST

START_TEST(without_values_only_the_sums_grow)
{
    float divisor;

    make(&head, 20, 6, 3);
    run_rows(&head);
    other = head;
    memset(other.state, 0, sizeof other.state);
    attn_linear_attention_add(&other.linear,
                              &(struct attn_kv_rows){.k = other.k, .ldk = 6, .n = 20}, other.state,
                              scratch);
    for (size_t i = 0; i < (size_t)6 * 3; i++)
        ck_assert(other.state[i] == 0);
    divisor = attn_linear_attention_row(&other.linear, other.state, other.q, NULL, scratch);
    attn_assert_same_bits("divisor", &divisor, head.divisors, 1);
}
END_TEST

ATTN_SUITE("attention: linear", the_golden_numbers_are_reproduced,
           the_recurrent_form_equals_the_matrix_form,
           rows_sum_to_one_and_hold_nothing_behind_the_mask,
           results_do_not_depend_on_how_keys_and_rows_are_split, every_engine_gives_the_same_bits,
           features_that_underflow_give_zeros_and_not_nan, zeros_have_no_sign,
           without_values_only_the_sums_grow)
