/* test_clusters.c - the order of clusters: what is alike stands together, each thing once, whatever
 * order it came in. */
#include "grid/clusters.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST = 64 };

static size_t order[MOST];
static bool begins[MOST];
static float distances[MOST * MOST];

/* Distances of points on a line. */
static void measure(const double *points, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            distances[i * n + j] = (float)fabs(points[i] - points[j]);
}

static void find(size_t n)
{
    struct attn_error err = {0};

    ck_assert_int_eq(attn_clusters_order(distances, n, order, begins, &err), ATTN_OK);
}

START_TEST(points_of_a_line_stand_in_their_order)
{
    const double points[] = {7, 1, 4.5, 1.25, 40, 4, 7.5, 38};
    const size_t n = sizeof points / sizeof *points;

    measure(points, n);
    find(n);
    for (size_t i = 2; i < n; i++) /* up or down */
        ck_assert((points[order[i]] > points[order[i - 1]]) ==
                  (points[order[1]] > points[order[0]]));
}
END_TEST

/* Three groups, i mod 3, of a distance of 1, far from each other. */
START_TEST(groups_stay_together)
{
    size_t n_change = 0;
    bool is_there[MOST] = {false};

    for (size_t i = 0; i < MOST; i++)
        for (size_t j = 0; j < MOST; j++)
            distances[i * MOST + j] = i == j ? 0 : i % 3 == j % 3 ? 1 : 5 + (float)((i * j) % 7);
    find(MOST);
    for (size_t i = 0; i < MOST; i++) {
        ck_assert(!is_there[order[i]]);
        is_there[order[i]] = true;
        n_change += i > 0 && order[i] % 3 != order[i - 1] % 3;
        ck_assert_int_eq(begins[i], i > 0 && order[i] % 3 != order[i - 1] % 3);
    }
    ck_assert_uint_eq(n_change, 2);
}
END_TEST

START_TEST(few_things)
{
    find(0);
    distances[0] = 0;
    find(1);
    ck_assert_uint_eq(order[0], 0);
    measure((const double[]){1, 2}, 2);
    find(2);
    ck_assert_uint_eq(order[0] + order[1], 1);
}
END_TEST

ATTN_SUITE("clusters", points_of_a_line_stand_in_their_order, groups_stay_together, few_things)
