/* test_links.c - links between words: methods against trying all ways, and links read from text. */
#include "base/random.h"
#include "measures/links.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { MOST = 6, N_MATRIX = 60 };

/* A random matrix [m, n] of cosines, other sizes for other numbers. */
static void draw(size_t number, double x[MOST * MOST], size_t *m, size_t *n)
{
    struct attn_random random;

    attn_random_seed(&random, number);
    *m = 1 + number % MOST;
    *n = 1 + number / MOST % MOST;
    for (size_t i = 0; i < *m * *n; i++)
        x[i] = 2 * attn_random_double(&random) - 1;
}

static void find(enum attn_link_method method, double threshold, const double *x, size_t m,
                 size_t n, unsigned char links[MOST * MOST])
{
    double copy[MOST * MOST];

    memcpy(copy, x, m * n * sizeof *x);
    memset(links, 0, m * n);
    ck_assert_int_eq(
        attn_links_find(&(struct attn_link_rule){method, threshold}, copy, m, n, links, NULL),
        ATTN_OK);
}

/* The largest sum of a matching of rows I.. with free columns. */
static double best_sum(const double *x, size_t m, size_t n, size_t i, unsigned used, size_t n_skip)
{
    double best = i == m       ? 0
                  : n_skip > 0 ? best_sum(x, m, n, i + 1, used, n_skip - 1)
                               : -(double)INFINITY;

    for (size_t j = 0; i < m && j < n; j++) {
        if (used & 1U << j)
            continue;
        const double sum = x[i * n + j] + best_sum(x, m, n, i + 1, used | 1U << j, n_skip);

        best = sum > best ? sum : best;
    }
    return best;
}

START_TEST(matching_has_the_largest_sum)
{
    for (size_t number = 0; number < N_MATRIX; number++) {
        double x[MOST * MOST], sum = 0;
        unsigned char links[MOST * MOST];
        size_t m, n, n_link = 0, rows[MOST] = {0}, columns[MOST] = {0};

        draw(number, x, &m, &n);
        find(ATTN_LINK_MATCH, 0, x, m, n, links);
        for (size_t i = 0; i < m * n; i++) {
            if (!links[i])
                continue;
            sum += x[i];
            n_link++;
            ck_assert_uint_eq(rows[i / n]++, 0);
            ck_assert_uint_eq(columns[i % n]++, 0);
        }
        ck_assert_uint_eq(n_link, m < n ? m : n);
        ck_assert_double_eq_tol(sum, best_sum(x, m, n, 0, 0, m > n ? m - n : 0), 1e-12);
    }
}
END_TEST

START_TEST(argmax_links_who_choose_each_other)
{
    for (size_t number = 0; number < N_MATRIX; number++) {
        double x[MOST * MOST];
        unsigned char links[MOST * MOST], more[MOST * MOST];
        size_t m, n;

        draw(number, x, &m, &n);
        find(ATTN_LINK_ARGMAX, 0, x, m, n, links);
        find(ATTN_LINK_ITERMAX, 0, x, m, n, more);
        for (size_t cell = 0; cell < m * n; cell++) {
            bool is_largest = true;

            for (size_t k = 0; k < n; k++)
                is_largest &= x[cell] >= x[cell / n * n + k];
            for (size_t k = 0; k < m; k++)
                is_largest &= x[cell] >= x[k * n + cell % n];
            ck_assert_int_eq(links[cell], is_largest);
            ck_assert_int_ge(more[cell], links[cell]);
        }
    }
}
END_TEST

START_TEST(equal_numbers_link_the_first)
{
    const double x[MOST * MOST] = {1, 1, 0, 1, 1, 0};
    unsigned char links[MOST * MOST];

    find(ATTN_LINK_ARGMAX, 0, x, 2, 3, links);
    ck_assert_mem_eq(links, "\1\0\0\0\0\0", 6);
}
END_TEST

START_TEST(softmax_gives_the_smaller_probability)
{
    const double ln3 = 1.0986122886681098;
    double x[] = {ln3, 0, 0, 0}; /* row 0: 3/4, 1/4; row 1: 1/2, 1/2; columns the same */
    unsigned char links[4] = {0};

    ck_assert_int_eq(
        attn_links_find(&(struct attn_link_rule){ATTN_LINK_SOFTMAX, 0.3}, x, 2, 2, links, NULL),
        ATTN_OK);
    ck_assert_double_eq_tol(x[0], 0.75, 1e-15);
    ck_assert_double_eq_tol(x[1], 0.25, 1e-15);
    ck_assert_double_eq_tol(x[3], 0.5, 1e-15);
    ck_assert_mem_eq(links, "\1\0\0\1", 4);
}
END_TEST

START_TEST(gold_is_read)
{
    static const char *const wrong[] = {"0",
                                        "0-",
                                        "-0",
                                        "2-0",
                                        "0-3",
                                        "0 - 1",
                                        "0-1x",
                                        "0:1",
                                        "0-1,1-1",
                                        "00-0-0",
                                        "18446744073709551616-0"};
    unsigned char gold[6] = {0}, links[6] = {1, 1, 0, 0, 0, 0};
    struct attn_link_counts counts = {0};
    struct attn_error err;

    ck_assert_int_eq(attn_links_read(" 0-0\t1p1  0?2 1-1 1p1\r\n", 2, 3, false, gold, &err),
                     ATTN_OK);
    ck_assert_mem_eq(gold, "\1\0\2\0\1\0", 6);
    attn_links_count(links, gold, 6, &counts);
    ck_assert_uint_eq(counts.links, 2);
    ck_assert_uint_eq(counts.sure, 2);
    ck_assert_uint_eq(counts.possible, 3);
    ck_assert_uint_eq(counts.hits, 1);
    ck_assert_uint_eq(counts.hits_sure, 1);
    memset(gold, 0, sizeof gold);
    ck_assert_int_eq(attn_links_read("2-3", 2, 3, true, gold, &err), ATTN_OK);
    ck_assert_mem_eq(gold, "\0\0\0\0\0\1", 6);
    ck_assert_int_eq(attn_links_read("0-1", 2, 3, true, gold, &err), ATTN_INVALID);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(attn_links_read(wrong[i], 2, 3, false, gold, &err), ATTN_INVALID);
}
END_TEST

START_TEST(memory_that_runs_out_is_reported)
{
    for (int method = ATTN_LINK_ARGMAX; method <= ATTN_LINK_SOFTMAX; method++) {
        enum attn_status status = ATTN_NO_MEMORY;

        for (long n = 0; status != ATTN_OK; n++) {
            double x[] = {0.5, 0.1, 0.2, 0.3, 0.4, 0.9, 0.6, 0.7, 0.8};
            unsigned char links[9] = {0};

            attn_alloc_fail_at(n);
            status = attn_links_find(&(struct attn_link_rule){(enum attn_link_method)method, 0}, x,
                                     3, 3, links, NULL);
            attn_alloc_fail_off();
            ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
            ck_assert_int_lt(n, 10);
        }
    }
}
END_TEST

ATTN_SUITE("links", matching_has_the_largest_sum, argmax_links_who_choose_each_other,
           equal_numbers_link_the_first, softmax_gives_the_smaller_probability, gold_is_read,
           memory_that_runs_out_is_reported)
