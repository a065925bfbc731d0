/*
 * test_difference.c - the measures between an attention and the exact one: cases with known
 * answers, and rows of chance against the definitions written out.
 */
#include "attn.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { N_CHANCE = 37 };

static struct attn_row_difference find(const struct attn_weight_row *exact,
                                       const struct attn_weight_row *other, size_t k)
{
    struct attn_row_difference difference;

    ck_assert(attn_row_difference_find(exact, other, k, &difference));
    return difference;
}

START_TEST(two_rows_have_the_distances_that_a_hand_computes)
{
    const float a[] = {0.5F, 0.25F, 0.25F}, b[] = {0.25F, 0.25F, 0.5F};
    const struct attn_weight_row exact = {a, NULL, 3}, other = {b, NULL, 3};
    const struct attn_row_difference d = find(&exact, &other, 1);

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
    const struct attn_weight_row exact = {a, NULL, 2}, other = {b, NULL, 2};
    const struct attn_row_difference d = find(&exact, &other, 2);

    ck_assert_double_eq_tol(d.kl, 0.75 * log(1.5) + 0.25 * log(0.5), 1e-15);
    ck_assert_double_eq_tol(d.kl_back, 0.5 * log(1 / 1.5) + 0.5 * log(2), 1e-15);
}
END_TEST

START_TEST(a_row_is_at_no_distance_from_itself)
{
    const float a[] = {0.125F, 0, 0.5F, 0.375F};
    const int32_t keys[] = {0, 2, 3};
    const float kept[] = {0.125F, 0.5F, 0.375F};
    const struct attn_weight_row dense = {a, NULL, 4}, sparse = {kept, keys, 3};
    const struct attn_weight_row *rows[] = {&dense, &sparse};

    for (int i = 0; i < 4; i++) {
        const struct attn_row_difference d = find(rows[i / 2], rows[i % 2], 5);

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
    const struct attn_weight_row exact = {a, NULL, 4}, kept = {half, keys, 2};
    const struct attn_weight_row beyond = {b, others, 3};
    struct attn_row_difference d = find(&exact, &kept, 2);

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
    const struct attn_weight_row exact = {a, NULL, 5}, other = {b, NULL, 5};
    const struct attn_weight_row pushed = {late, NULL, 3}, first = {early, NULL, 3};

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
    const struct attn_weight_row zeros = {a, NULL, 2}, none = {a, NULL, 0}, some = {b, NULL, 2};
    struct attn_row_difference d = {.tv = 7};

    ck_assert(!attn_row_difference_find(&zeros, &some, 2, &d));
    ck_assert(!attn_row_difference_find(&none, &some, 2, &d));
    ck_assert_double_eq(d.tv, 7);
    d = find(&some, &none, 2);
    ck_assert_double_eq(d.mass_lost, 1);
    ck_assert_double_eq(d.tv, 0.5);
    ck_assert_double_eq(d.recall, 0);
}
END_TEST

/* N weights that add to TOTAL, every third of them 0 when SPARSE. */
static void chance_row(float *weights, bool is_sparse, float total, uint64_t seed)
{
    double sum = 0;

    attn_reference_fill(weights, N_CHANCE, 1, seed);
    for (size_t i = 0; i < N_CHANCE; i++) {
        weights[i] = is_sparse && i % 3 == seed % 3 ? 0 : fabsf(weights[i]) + 0.01F;
        sum += (double)weights[i];
    }
    for (size_t i = 0; i < N_CHANCE; i++)
        weights[i] *= total / (float)sum;
}

/* How many weights of the row come before that of KEY. */
static size_t rank_of(const float *weights, size_t key)
{
    size_t rank = 0;

    for (size_t i = 0; i < N_CHANCE; i++)
        rank += weights[i] > weights[key] || (weights[i] >= weights[key] && i < key);
    return rank;
}

/* The definitions, for rows that hold every key. */
static struct attn_row_difference by_definition(const float *a, const float *b, size_t k)
{
    struct attn_row_difference d = {0};
    double sum_a = 0, sum_b = 0;
    size_t n_top = 0, n_both = 0;

    for (size_t i = 0; i < N_CHANCE; i++) {
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
static struct attn_weight_row without_zeros(const float *weights, float *kept, int32_t *keys)
{
    struct attn_weight_row row = {kept, keys, 0};

    for (size_t i = 0; i < N_CHANCE; i++)
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

START_TEST(rows_of_chance_have_the_distances_of_the_definitions)
{
    float a[N_CHANCE], b[N_CHANCE], kept_a[N_CHANCE], kept_b[N_CHANCE];
    int32_t keys_a[N_CHANCE], keys_b[N_CHANCE];

    for (uint64_t seed = 1; seed <= 60; seed++) {
        const size_t k = 1 + seed % 9;
        struct attn_row_difference expected, d;
        double lost = 0;

        chance_row(a, seed % 4 > 1, 1, seed);
        chance_row(b, seed % 2 == 1, seed % 5 == 0 ? 0.5F : 1, seed + 1000);
        expected = by_definition(a, b, k);
        for (int form = 0; form < 4; form++) {
            struct attn_weight_row exact = without_zeros(a, kept_a, keys_a);
            struct attn_weight_row other = without_zeros(b, kept_b, keys_b);

            if (form % 2 == 0)
                exact = (struct attn_weight_row){a, NULL, N_CHANCE};
            if (form / 2 == 0)
                other = (struct attn_weight_row){b, NULL, N_CHANCE};
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
        for (size_t i = 0; i < N_CHANCE; i++)
            lost -= b[i] > 0 ? 0 : (double)a[i];
        ck_assert_double_eq_tol(lost, 0, 1e-12);
    }
}
END_TEST

START_TEST(sums_become_means_the_largest_and_a_ratio_of_lengths)
{
    const struct attn_row_difference rows[] = {
        {.tv = 0.5, .kl = 1, .kl_back = 2, .recall = 1, .mass_lost = 0.25},
        {.tv = 0.25, .kl = (double)INFINITY, .kl_back = 1, .recall = 0.5, .mass_lost = 0},
    };
    const float z[2][2] = {{3, 4}, {0, 12}}, other[2][2] = {{5, 0}, {0, 6}};
    struct attn_difference_sums sums = {0}, parts[2] = {{0}, {0}};
    struct attn_difference d;

    for (int i = 0; i < 2; i++) {
        attn_difference_add_row(&parts[i], &rows[i]);
        attn_difference_add_vector(&parts[i], z[i], other[i], 2);
        attn_difference_add(&sums, &parts[i]);
    }
    attn_difference_finish(&sums, &d);
    ck_assert_uint_eq(d.n_row, 2);
    ck_assert_uint_eq(d.n_kl_infinite, 1);
    ck_assert_double_eq(d.values[ATTN_DIFFERENCE_TV], 0.375);
    ck_assert_double_eq(d.values[ATTN_DIFFERENCE_TV_MOST], 0.5);
    ck_assert(isinf(d.values[ATTN_DIFFERENCE_KL]));
    ck_assert_double_eq(d.values[ATTN_DIFFERENCE_KL_BACK], 1.5);
    ck_assert_double_eq(d.values[ATTN_DIFFERENCE_RECALL], 0.75);
    ck_assert_double_eq(d.values[ATTN_DIFFERENCE_MASS_LOST], 0.125);
    /* |(-2, 4)|^2 + |(0, 6)|^2 over 25 + 144; 3/5 and 1 */
    ck_assert_double_eq_tol(d.values[ATTN_DIFFERENCE_Z_ERROR], sqrt(56.0 / 169), 1e-15);
    ck_assert_double_eq_tol(d.values[ATTN_DIFFERENCE_Z_COSINE], 0.8, 1e-15);
    attn_difference_add_row(&parts[0], &rows[1]);
    ck_assert_double_eq(parts[0].tv_most, 0.5);
}
END_TEST

START_TEST(vectors_of_length_0_are_alike_and_like_no_other)
{
    const float zero[] = {0, 0}, one[] = {1, 0};
    static const struct {
        int exact, other;
        double error, cosine;
    } rows[] = {{0, 0, 0, 1}, {0, 1, (double)INFINITY, 0}, {1, 0, 1, 0}, {1, 1, 0, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_difference_sums sums = {0};
        struct attn_difference d;

        attn_difference_add_vector(&sums, rows[i].exact ? one : zero, rows[i].other ? one : zero,
                                   2);
        attn_difference_finish(&sums, &d);
        assert_same(d.values[ATTN_DIFFERENCE_Z_ERROR], rows[i].error);
        assert_same(d.values[ATTN_DIFFERENCE_Z_COSINE], rows[i].cosine);
        ck_assert(isnan(d.values[ATTN_DIFFERENCE_TV]));
    }
}
END_TEST

START_TEST(nothing_added_is_no_number)
{
    const struct attn_difference_sums sums = {0};
    struct attn_difference d;

    attn_difference_finish(&sums, &d);
    for (int i = 0; i < ATTN_N_DIFFERENCE; i++)
        ck_assert_msg(isnan(d.values[i]), "%s", attn_difference_name(i));
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
           rows_without_weight_are_left_out, rows_of_chance_have_the_distances_of_the_definitions,
           sums_become_means_the_largest_and_a_ratio_of_lengths,
           vectors_of_length_0_are_alike_and_like_no_other, nothing_added_is_no_number,
           logits_have_the_divergence_of_their_softmax)
