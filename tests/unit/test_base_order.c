/* The order of numbers, in which NaN has a place, and what is sorted by it. */
#include "base/number.h"
#include "run/prediction.h"
#include "tests/support/suite.h"

#include <math.h>

START_TEST(nan_stands_after_every_number)
{
    static const double sorted[] = {-HUGE_VAL, -1, 0, 1e-300, 2, HUGE_VAL, (double)NAN};
    enum { N = sizeof sorted / sizeof *sorted };

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const int order = attn_compare_numbers(sorted[i], sorted[j]);

            ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
        }
    ck_assert_int_eq(attn_compare_numbers(-0.0, 0.0), 0);
    ck_assert_int_eq(attn_compare_numbers((double)-NAN, (double)NAN), 0);
    ck_assert_int_gt(attn_compare_numbers((double)-NAN, 1), 0);
}
END_TEST

/* A comparison without a place for NaN leaves the order to the sort, and the numbers among it. */
START_TEST(logits_that_are_nan_come_last)
{
    static const float logits[] = {NAN, 1, NAN, 3, NAN, 2, 3, NAN, -INFINITY, 4, NAN};
    static const int32_t expected[] = {9, 3, 6, 5, 1, 8, 0, 2, 4, 7, 10};
    enum { N = sizeof logits / sizeof *logits };
    struct attn_scored ranked[N];

    attn_logits_rank(logits, N, ranked);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(ranked[i].id, expected[i]);
}
END_TEST

ATTN_SUITE("base order", nan_stands_after_every_number, logits_that_are_nan_come_last)
