/*
 * test_difference.c - the measure between an attention and the exact one: cases with known answers,
 * and random rows against the definitions written out; and the sums of a measurement.
 */
#include "attn.h"
#include "measures/analysis_internal.h"
#include "measures/metric.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { N_RANDOM = 37 };

/* The values of one row that the tests name. */
struct row_difference {
    double tv, kl, kl_back, recall, mass_lost;
};

static struct row_difference of_values(const double *values)
{
    return (struct row_difference){values[ATTN_DIFFERENCE_TV], values[ATTN_DIFFERENCE_KL],
                                   values[ATTN_DIFFERENCE_KL_BACK], values[ATTN_DIFFERENCE_RECALL],
                                   values[ATTN_DIFFERENCE_MASS_LOST]};
}

/* Whether a row counts; its values go to *difference then. */
static bool compare(const struct attn_row *exact, const struct attn_row *other, size_t k,
                    struct row_difference *difference)
{
    const struct attn_metric *metric = attn_metric_find("difference");
    const struct attn_metric_settings settings = {.n_recalled = k};
    const struct attn_metric_row row = {
        .settings = &settings, .site = ATTN_SITE_PATTERN, .cells = *other, .exact = *exact};
    double terms[ATTN_METRIC_MOST] = {0}, values[ATTN_N_DIFFERENCE];

    if (!metric->row(&row, terms))
        return false;
    metric->finish(terms, values);
    *difference = of_values(values);
    return true;
}

static struct row_difference find(const struct attn_row *exact, const struct attn_row *other,
                                  size_t k)
{
    struct row_difference difference;

    ck_assert(compare(exact, other, k, &difference));
    return difference;
}

static void find_at(const struct attn_measurement *measurement, int layer, int head, double *values)
{
    const struct attn_location at = {.layer = layer, .head = head};

    attn_measurement_find(measurement, &at, values);
}

START_TEST(two_rows_have_the_distances_that_a_hand_computes)
{
    const float a[] = {0.5F, 0.25F, 0.25F}, b[] = {0.25F, 0.25F, 0.5F};
    const struct attn_row exact = {a, NULL, 3, 0}, other = {b, NULL, 3, 0};
    const struct row_difference d = find(&exact, &other, 1);

    ck_assert_double_eq(d.tv, 0.25);
    /* 1/2 ln 2 + 1/4 ln 1 + 1/4 ln 1/2 */
    ck_assert_double_eq_tol(d.kl, 0.25 * log(2), 1e-15);
    ck_assert_double_eq_tol(d.kl_back, 0.25 * log(2), 1e-15);
    ck_assert_double_eq(d.mass_lost, 0);
    ck_assert_double_eq(d.recall, 0);
}
END_TEST

START_TEST(the_two_divergences_are_told_apart)
{
    const float a[] = {0.75F, 0.25F}, b[] = {0.5F, 0.5F};
    const struct attn_row exact = {a, NULL, 2, 0}, other = {b, NULL, 2, 0};
    const struct row_difference d = find(&exact, &other, 2);

    ck_assert_double_eq_tol(d.kl, 0.75 * log(1.5) + 0.25 * log(0.5), 1e-15);
    ck_assert_double_eq_tol(d.kl_back, 0.5 * log(1 / 1.5) + 0.5 * log(2), 1e-15);
}
END_TEST

START_TEST(a_row_is_at_no_distance_from_itself)
{
    const float a[] = {0.125F, 0, 0.5F, 0.375F};
    const int32_t keys[] = {0, 2, 3};
    const float kept[] = {0.125F, 0.5F, 0.375F};
    const struct attn_row dense = {a, NULL, 4, 0}, sparse = {kept, keys, 3, 0};
    const struct attn_row *rows[] = {&dense, &sparse};

    for (int i = 0; i < 4; i++) {
        const struct row_difference d = find(rows[i / 2], rows[i % 2], 5);

        ck_assert_double_eq(d.tv, 0);
        ck_assert_double_eq(d.kl, 0);
        ck_assert_double_eq(d.kl_back, 0);
        ck_assert_double_eq(d.mass_lost, 0);
        ck_assert_double_eq(d.recall, 1);
    }
}
END_TEST

/* What a softmax over fewer keys gives: the exact weights of those, divided by their sum. */
START_TEST(fewer_keys_lose_their_mass_and_only_the_reverse_divergence_stays_finite)
{
    const float a[] = {0.125F, 0.25F, 0.125F, 0.5F}, b[] = {0.4F, 0.2F, 0.4F};
    const float half[] = {1.0F / 3, 2.0F / 3};
    const int32_t keys[] = {1, 3}, others[] = {1, 2, 5};
    const struct attn_row exact = {a, NULL, 4, 0}, kept = {half, keys, 2, 0};
    const struct attn_row beyond = {b, others, 3, 0};
    struct row_difference d = find(&exact, &kept, 2);

    ck_assert_double_eq(d.mass_lost, 0.25);
    ck_assert_double_eq_tol(d.tv, 0.25, 1e-7);
    ck_assert(isinf(d.kl) && d.kl > 0);
    ck_assert_double_eq_tol(d.kl_back, -log(0.75), 1e-7);
    ck_assert_double_eq(d.recall, 1);

    /* Keys that the exact row lacks: 5 lies behind its end. */
    d = find(&exact, &beyond, 2);
    ck_assert_double_eq(d.mass_lost, 0.625);
    ck_assert(isinf(d.kl) && isinf(d.kl_back));
    ck_assert_double_eq(d.recall, 0.5); /* {3, 1} against {1, 5}, as 1 comes before 5 */
}
END_TEST

START_TEST(only_keys_with_weight_are_recalled_and_the_earlier_of_equal_ones)
{
    const float a[] = {0.25F, 0.5F, 0.25F, 0, 0}, b[] = {0.25F, 0.25F, 0.25F, 0.25F, 0};
    const float late[] = {0.25F, 0.25F, 0.5F}, early[] = {0.5F, 0, 0.5F};
    const struct attn_row exact = {a, NULL, 5, 0}, other = {b, NULL, 5, 0};
    const struct attn_row pushed = {late, NULL, 3, 0}, first = {early, NULL, 3, 0};

    ck_assert_double_eq(find(&pushed, &first, 2).recall, 1);      /* {2, 0}: the 1 was pushed out */
    ck_assert_double_eq(find(&exact, &other, 1).recall, 0);       /* {1}, {0} */
    ck_assert_double_eq(find(&exact, &other, 2).recall, 1);       /* {1, 0}, {0, 1} */
    ck_assert_double_eq(find(&exact, &other, 3).recall, 1);       /* {1, 0, 2}, {0, 1, 2} */
    ck_assert_double_eq(find(&exact, &other, 5).recall, 1);       /* three have weight, of four */
    ck_assert_double_eq(find(&other, &exact, 5).recall, 3.0 / 4); /* four, of three */
}
END_TEST

START_TEST(rows_without_weight_are_left_out)
{
    const float a[] = {0, 0}, b[] = {0.5F, 0.5F};
    const struct attn_row zeros = {a, NULL, 2, 0}, none = {a, NULL, 0, 0}, some = {b, NULL, 2, 0};
    struct row_difference d = {.tv = 7};

    ck_assert(!compare(&zeros, &some, 2, &d));
    ck_assert(!compare(&none, &some, 2, &d));
    ck_assert_double_eq(d.tv, 7);
    d = find(&some, &none, 2);
    ck_assert_double_eq(d.mass_lost, 1);
    ck_assert_double_eq(d.tv, 0.5);
    ck_assert_double_eq(d.recall, 0);
}
END_TEST

/* N weights that add to TOTAL, every third of them 0 when SPARSE. */
static void random_row(float *weights, bool is_sparse, float total, uint64_t seed)
{
    double sum = 0;

    attn_reference_fill(weights, N_RANDOM, 1, seed);
    for (size_t i = 0; i < N_RANDOM; i++) {
        weights[i] = is_sparse && i % 3 == seed % 3 ? 0 : fabsf(weights[i]) + 0.01F;
        sum += (double)weights[i];
    }
    for (size_t i = 0; i < N_RANDOM; i++)
        weights[i] *= total / (float)sum;
}

/* How many weights of the row come before that of KEY. */
static size_t rank_of(const float *weights, size_t key)
{
    size_t rank = 0;

    for (size_t i = 0; i < N_RANDOM; i++)
        rank += weights[i] > weights[key] || (weights[i] >= weights[key] && i < key);
    return rank;
}

/* The definitions, for rows that hold every key. */
static struct row_difference by_definition(const float *a, const float *b, size_t k)
{
    struct row_difference d = {0};
    double sum_a = 0, sum_b = 0;
    size_t n_top = 0, n_both = 0;

    for (size_t i = 0; i < N_RANDOM; i++) {
        const bool is_top = a[i] > 0 && rank_of(a, i) < k;

        d.tv += fabs((double)a[i] - (double)b[i]) / 2;
        if (a[i] > 0)
            d.kl += (double)a[i] * (log((double)a[i]) - log((double)b[i]));
        if (b[i] > 0)
            d.kl_back += (double)b[i] * (log((double)b[i]) - log((double)a[i]));
        sum_a += (double)a[i];
        sum_b += (double)b[i];
        n_top += is_top;
        n_both += is_top && b[i] > 0 && rank_of(b, i) < k;
    }
    d.kl += sum_b - sum_a;
    d.kl_back += sum_a - sum_b;
    d.recall = (double)n_both / (double)n_top;
    return d;
}

/* The cells of a row that are not 0. */
static struct attn_row without_zeros(const float *weights, float *kept, int32_t *keys)
{
    struct attn_row row = {kept, keys, 0, 0};

    for (size_t i = 0; i < N_RANDOM; i++)
        if (weights[i] > 0) {
            keys[row.n] = (int32_t)i;
            kept[row.n++] = weights[i];
        }
    return row;
}

static void assert_same(double actual, double expected)
{
    if (isinf(expected))
        ck_assert_msg(isinf(actual) && actual > 0, "%g, expected infinity", actual);
    else
        ck_assert_msg(fabs(actual - expected) < 1e-12, "%.17g, expected %.17g", actual, expected);
}

START_TEST(random_rows_have_the_distances_of_the_definitions)
{
    float a[N_RANDOM], b[N_RANDOM], kept_a[N_RANDOM], kept_b[N_RANDOM];
    int32_t keys_a[N_RANDOM], keys_b[N_RANDOM];

    for (uint64_t seed = 1; seed <= 60; seed++) {
        const size_t k = 1 + seed % 9;
        struct row_difference expected, d;
        double lost = 0;

        random_row(a, seed % 4 > 1, 1, seed);
        random_row(b, seed % 2 == 1, seed % 5 == 0 ? 0.5F : 1, seed + 1000);
        expected = by_definition(a, b, k);
        for (int form = 0; form < 4; form++) {
            struct attn_row exact = without_zeros(a, kept_a, keys_a);
            struct attn_row other = without_zeros(b, kept_b, keys_b);

            if (form % 2 == 0)
                exact = (struct attn_row){a, NULL, N_RANDOM, 0};
            if (form / 2 == 0)
                other = (struct attn_row){b, NULL, N_RANDOM, 0};
            d = find(&exact, &other, k);
            assert_same(d.tv, expected.tv);
            assert_same(d.kl, expected.kl);
            assert_same(d.kl_back, expected.kl_back);
            assert_same(d.recall, expected.recall);
            if (form / 2 == 0)
                ck_assert_double_eq(d.mass_lost, 0);
            else
                lost = d.mass_lost;
        }
        for (size_t i = 0; i < N_RANDOM; i++)
            lost -= b[i] > 0 ? 0 : (double)a[i];
        ck_assert_double_eq_tol(lost, 0, 1e-12);
    }
}
END_TEST

/* Two layers of two heads, three queries and keys. */
static const struct attn_dims dims = {
    .n_layer = 2,
    .n_head = 2,
    .n_kv_head = 2,
    .d_value = 2,
    .n_position = 3,
    .sites = {{UINT64_C(1) << ATTN_SITE_PATTERN | UINT64_C(1) << ATTN_SITE_Z}}};

static struct attn_measurement *measure(const struct attn_selection *selection)
{
    const struct attn_metric_settings settings = {.n_recalled = 5};
    struct attn_measurement *measurement;
    struct attn_error err = {0};

    ck_assert(attn_measurement_create(attn_metric_find("difference"), &settings, selection, NULL,
                                      &measurement, &err) == ATTN_OK);
    return measurement;
}

static struct attn_selection *select_all(void)
{
    struct attn_selection *selection;
    struct attn_error err = {0};

    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    return selection;
}

/* Adds the first two rows of a head, and the exact ones. */
static void add(struct attn_measurement *measurement, enum attn_site site, int layer, int head,
                const float *other, const float *exact)
{
    const size_t n_col = site == ATTN_SITE_Z ? 2 : 3;
    const struct attn_trace_event event = {.at.site = site,
                                           .at.layer = layer,
                                           .at.head = head,
                                           .n_row = 2,
                                           .n_col = n_col,
                                           .ld = n_col,
                                           .data = other};
    struct attn_trace_event exact_event = event;

    exact_event.data = exact;
    attn_measurement_add(measurement, &event, &exact_event);
}

START_TEST(sums_become_means_the_largest_and_a_ratio_of_lengths)
{
    const float exact[] = {0.5F, 0.5F, 0, 0, 0.75F, 0.25F};
    const float other[] = {0.25F, 0.75F, 0, 1, 0, 0};
    const float z[] = {3, 4, 0, 12}, other_z[] = {5, 0, 0, 6};
    struct attn_selection *selection = select_all();
    struct attn_measurement *measurement = measure(selection);
    double d[ATTN_N_DIFFERENCE];

    add(measurement, ATTN_SITE_PATTERN, 0, 1, other, exact);
    add(measurement, ATTN_SITE_Z, 0, 1, other_z, z);
    find_at(measurement, 0, 1, d);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_ROWS], 2);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_ROWS_KL_INFINITE], 1);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_TV], 0.625); /* 0.25 and 1 */
    ck_assert_double_eq(d[ATTN_DIFFERENCE_TV_MOST], 1);
    ck_assert(isinf(d[ATTN_DIFFERENCE_KL]));
    ck_assert_double_eq(d[ATTN_DIFFERENCE_RECALL], 0.5);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_MASS_LOST], 0);
    /* |(-2, 4)|^2 + |(0, 6)|^2 over 25 + 144; 3/5 and 1 */
    ck_assert_double_eq_tol(d[ATTN_DIFFERENCE_Z_ERROR], sqrt(56.0 / 169), 1e-15);
    ck_assert_double_eq_tol(d[ATTN_DIFFERENCE_Z_COSINE], 0.8, 1e-15);
    attn_measurement_free(measurement);
    attn_selection_free(selection);
}
END_TEST

START_TEST(heads_layers_and_all_are_means_over_their_selected_rows)
{
    const float exact[] = {1, 0, 0, 0.5F, 0.5F, 0};
    const float half[] = {0.5F, 0.5F, 0, 0.5F, 0.5F, 0}, far[] = {0, 0, 1, 0, 0, 1};
    struct attn_selection *selection = select_all();
    struct attn_measurement *measurement;
    struct attn_error err = {0};
    double d[ATTN_N_DIFFERENCE];

    ck_assert(attn_selection_set_heads(selection, "0.0,1.0,1.1", &err) == ATTN_OK);
    measurement = measure(selection);
    add(measurement, ATTN_SITE_PATTERN, 0, 0, half, exact);  /* 0.5 and 0 */
    add(measurement, ATTN_SITE_PATTERN, 0, 1, far, exact);   /* not selected */
    add(measurement, ATTN_SITE_PATTERN, 1, 0, exact, exact); /* 0 and 0 */
    add(measurement, ATTN_SITE_PATTERN, 1, 1, far, exact);   /* 1 and 1 */
    find_at(measurement, 0, 0, d);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_TV], 0.25);
    find_at(measurement, 0, ATTN_ALL_HEADS, d);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_TV], 0.25);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_ROWS], 2);
    find_at(measurement, 1, ATTN_ALL_HEADS, d);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_TV], 0.5);
    find_at(measurement, ATTN_ALL_LAYERS, ATTN_ALL_HEADS, d);
    ck_assert_double_eq_tol(d[ATTN_DIFFERENCE_TV], 2.5 / 6, 1e-15);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_TV_MOST], 1);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_ROWS], 6);
    attn_measurement_free(measurement);
    attn_selection_free(selection);
}
END_TEST

/* Exact rows come in blocks of their own. */
START_TEST(exact_rows_meet_those_of_the_same_queries)
{
    const float other[] = {1, 0, 0, 0, 1, 0, 0.5F, 0.25F, 0.25F};
    const struct attn_trace_event event = {
        .at.site = ATTN_SITE_PATTERN, .n_row = 3, .n_col = 3, .ld = 3, .data = other};
    struct attn_trace_event exact = event;
    struct attn_selection *selection = select_all();
    struct attn_measurement *measurement = measure(selection);
    double d[ATTN_N_DIFFERENCE];

    exact.row0 = 1;
    exact.n_row = 2;
    exact.data = other + 3;
    attn_measurement_add(measurement, &event, &exact);
    find_at(measurement, 0, 0, d);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_ROWS], 2);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_TV], 0);
    attn_measurement_free(measurement);
    attn_selection_free(selection);
}
END_TEST

START_TEST(vectors_of_length_0_are_alike_and_like_no_other)
{
    const float zero[] = {0, 0, 0, 0}, one[] = {1, 0, 1, 0};
    static const struct {
        int exact, other;
        double error, cosine;
    } rows[] = {{0, 0, 0, 1}, {0, 1, (double)INFINITY, 0}, {1, 0, 1, 0}, {1, 1, 0, 1}};
    struct attn_selection *selection = select_all();

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_measurement *measurement = measure(selection);
        double d[ATTN_N_DIFFERENCE];

        add(measurement, ATTN_SITE_Z, 1, 0, rows[i].other ? one : zero, rows[i].exact ? one : zero);
        find_at(measurement, 1, 0, d);
        assert_same(d[ATTN_DIFFERENCE_Z_ERROR], rows[i].error);
        assert_same(d[ATTN_DIFFERENCE_Z_COSINE], rows[i].cosine);
        ck_assert(isnan(d[ATTN_DIFFERENCE_TV]));
        attn_measurement_free(measurement);
    }
    attn_selection_free(selection);
}
END_TEST

START_TEST(nothing_added_is_no_number)
{
    struct attn_selection *selection = select_all();
    struct attn_measurement *measurement = measure(selection);
    double d[ATTN_N_DIFFERENCE];

    find_at(measurement, ATTN_ALL_LAYERS, ATTN_ALL_HEADS, d);
    for (int i = 0; i < ATTN_DIFFERENCE_ROWS; i++)
        ck_assert_msg(isnan(d[i]), "value %d", i);
    ck_assert_double_eq(d[ATTN_DIFFERENCE_ROWS], 0);
    attn_measurement_free(measurement);
    attn_selection_free(selection);
}
END_TEST

START_TEST(a_measure_has_a_name)
{
    ck_assert_str_eq(attn_metric_find("difference")->name, "difference");
    ck_assert_ptr_null(attn_metric_find("differ"));
}
END_TEST

START_TEST(failures_leave_nothing_behind)
{
    const struct attn_metric *metric = attn_metric_find("difference");
    const struct attn_metric_settings settings = {.n_recalled = 5};
    struct attn_selection *selection = select_all();
    struct attn_measurement *measurement = NULL;
    enum attn_status status = ATTN_NO_MEMORY;
    long n;

    for (n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        ck_assert_ptr_null(measurement);
        attn_alloc_fail_at(n);
        status = attn_measurement_create(metric, &settings, selection, NULL, &measurement, &err);
        attn_alloc_fail_off();
    }
    ck_assert_int_eq(n, 5);
    attn_measurement_free(measurement);
    attn_selection_free(selection);
}
END_TEST

START_TEST(logits_have_the_divergence_of_their_softmax)
{
    const float exact[] = {0, logf(3)}, other[] = {5, 5};
    const float far[] = {10000, 0}, away[] = {0, 10000};

    ck_assert_double_eq_tol(attn_logits_kl(exact, other, 2), 0.25 * log(0.5) + 0.75 * log(1.5),
                            1e-7);
    ck_assert_double_eq_tol(attn_logits_kl(other, exact, 2), 0.5 * log(2) + 0.5 * log(2.0 / 3),
                            1e-7);
    ck_assert_double_eq(attn_logits_kl(exact, exact, 2), 0);
    ck_assert_double_eq(attn_logits_kl(far, away, 2), 10000);
}
END_TEST

ATTN_SUITE("difference", two_rows_have_the_distances_that_a_hand_computes,
           the_two_divergences_are_told_apart, a_row_is_at_no_distance_from_itself,
           fewer_keys_lose_their_mass_and_only_the_reverse_divergence_stays_finite,
           only_keys_with_weight_are_recalled_and_the_earlier_of_equal_ones,
           rows_without_weight_are_left_out, random_rows_have_the_distances_of_the_definitions,
           sums_become_means_the_largest_and_a_ratio_of_lengths,
           heads_layers_and_all_are_means_over_their_selected_rows,
           exact_rows_meet_those_of_the_same_queries,
           vectors_of_length_0_are_alike_and_like_no_other, nothing_added_is_no_number,
           a_measure_has_a_name, failures_leave_nothing_behind,
           logits_have_the_divergence_of_their_softmax)
