/*
 * test_bow_layout.c - bows stand side by side at the query, and none crosses or covers another.
 */
#include "figures/figure_internal.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { BOWS = 5, STEPS = 400 };

static const struct attn_bow given[BOWS] = {{.key = 0, .away = -300, .width = 3},
                                            {.key = 1, .away = -180, .width = 12},
                                            {.key = 2, .away = 0, .width = 6},
                                            {.key = 3, .away = -60, .width = 1},
                                            {.key = 4, .away = 90, .width = 4}};

/* Returns the point at T of a bow: a cubic curve. */
static void point_of(const struct attn_bow *bow, double t, double point[2])
{
    const double up = 3 * t * (1 - t) * bow->high / 0.75;
    const double across = t * t * (3 - 2 * t);

    point[0] = bow->foot + across * (bow->away - bow->foot);
    point[1] = up;
}

/* Returns the height of a bow above X, which lies under it. */
static double height_at(const struct attn_bow *bow, double x)
{
    double best = HUGE_VAL, high = 0;

    for (int i = 0; i <= STEPS; i++) {
        double point[2];

        point_of(bow, (double)i / STEPS, point);
        if (fabs(point[0] - x) < best) {
            best = fabs(point[0] - x);
            high = point[1];
        }
    }
    return high;
}

START_TEST(feet_stand_side_by_side)
{
    struct attn_bow bows[BOWS];
    double end = -HUGE_VAL;

    memcpy(bows, given, sizeof bows);
    attn_bows_lay_out(bows, BOWS, 16, 54);
    for (size_t i = 1; i < BOWS; i++)
        ck_assert_double_ge(fabs(bows[i].away), fabs(bows[i - 1].away));
    ck_assert_double_eq(bows[0].away, 0);
    /* from left to right: the nearest key to the left, the farthest one, and that to the right */
    for (size_t i = 0; i < 4; i++) {
        const struct attn_bow *bow = &bows[(size_t[]){1, 3, 4, 2}[i]];

        ck_assert_double_ge(bow->foot - bow->width / 2, end + 1.4);
        end = bow->foot + bow->width / 2;
    }
    ck_assert_double_le(end, 16);
}
END_TEST

START_TEST(no_bow_crosses_another)
{
    struct attn_bow bows[BOWS];
    size_t n = 0;

    memcpy(bows, given, sizeof bows);
    attn_bows_lay_out(bows, BOWS, 16, 54);
    for (size_t i = 1; i < BOWS; i++)
        for (size_t k = i + 1; k < BOWS; k++) {
            if (bows[i].away * bows[k].away < 0)
                continue;
            n++;
            for (int at = 0; at <= STEPS; at++) { /* the nearer one is below */
                double point[2];

                point_of(&bows[i], (double)at / STEPS, point);
                ck_assert_double_le(point[1], height_at(&bows[k], point[0]) + 1);
            }
        }
    ck_assert_uint_eq(n, 3);
}
END_TEST

START_TEST(wide_bows_become_narrower)
{
    struct attn_bow bows[BOWS];
    double left = 0;

    memcpy(bows, given, sizeof bows);
    attn_bows_lay_out(bows, BOWS, 8, 54);
    for (size_t i = 0; i < BOWS; i++)
        left += bows[i].away < 0 ? bows[i].width : 0;
    ck_assert_double_eq_tol(left, 8, 1e-12);
    ck_assert_double_le(bows[BOWS - 1].high, 54 + 8 + ATTN_BOW_GAPS);
}
END_TEST

ATTN_SUITE("bow_layout", feet_stand_side_by_side, no_bow_crosses_another, wide_bows_become_narrower)
