/* test_principal_axes.c - principal components of rows whose axes are known. */
#include "pictures/principal_axes.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40, WIDE = 90 };

/* Row I lies at 5 cos, 2 sin on the orthogonal directions U and V of WIDTH, away from 0. */
static void fill_ellipse(double *rows, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++) {
        const double angle = 2 * 3.14159265358979323846 * (double)i / (double)n;

        for (size_t c = 0; c < width; c++) {
            const double u = c % 2 == 0 ? 1 : 0, v = c % 2 == 1 ? (c % 4 == 1 ? 1 : -1) : 0;

            rows[i * width + c] =
                7 + (5 * cos(angle) * u + 2 * sin(angle) * v) / sqrt((double)(width / 2));
        }
    }
}

/* The first two components of rows, and their shares. */
struct axes {
    double points[2 * N], shares[2];
};

static struct axes find(double *rows, size_t n, size_t width)
{
    struct axes axes = {0};
    struct attn_error err = {0};

    ck_assert_msg(attn_principal_axes_find(rows, n, width, axes.points, axes.shares, &err) ==
                      ATTN_OK,
                  "%s", err.message);
    return axes;
}

static void assert_ellipse(size_t width)
{
    double *rows = malloc(N * width * sizeof *rows);
    struct axes axes;

    fill_ellipse(rows, N, width);
    axes = find(rows, N, width);
    ck_assert_double_eq_tol(axes.shares[0], 25.0 / 29, 1e-9);
    ck_assert_double_eq_tol(axes.shares[1], 4.0 / 29, 1e-9);
    for (size_t i = 0; i < N; i++) {
        const double angle = 2 * 3.14159265358979323846 * (double)i / N;

        ck_assert_double_eq_tol(fabs(axes.points[2 * i]), fabs(5 * cos(angle)), 1e-6);
        ck_assert_double_eq_tol(fabs(axes.points[2 * i + 1]), fabs(2 * sin(angle)), 1e-6);
    }
    free(rows);
}

START_TEST(finds_the_axes_of_an_ellipse)
{
    assert_ellipse(4);    /* more rows than columns */
    assert_ellipse(WIDE); /* and the other way */
}
END_TEST

START_TEST(equal_rows_give_equal_bits_and_one_sign)
{
    double rows[N * 6], again[N * 6];
    struct axes a, b;
    double most = 0, least = 0;

    fill_ellipse(rows, N, 6);
    memcpy(again, rows, sizeof rows);
    a = find(rows, N, 6);
    b = find(again, N, 6);
    ck_assert_mem_eq(a.points, b.points, sizeof a.points);
    for (size_t i = 0; i < N; i++) {
        most = fmax(most, a.points[2 * i]);
        least = fmin(least, a.points[2 * i]);
    }
    ck_assert_double_ge(most * (1 + 1e-6), -least);
}
END_TEST

START_TEST(one_row_and_equal_rows_have_no_variance)
{
    for (size_t n = 1; n <= 3; n += 2) {
        double rows[3 * 5] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5};
        const struct axes axes = find(rows, n, 5);

        ck_assert_double_eq(axes.shares[0], 0);
        for (size_t i = 0; i < 2 * n; i++)
            ck_assert_double_eq_tol(axes.points[i], 0, 1e-12);
    }
}
END_TEST

ATTN_SUITE("principal_axes", finds_the_axes_of_an_ellipse, equal_rows_give_equal_bits_and_one_sign,
           one_row_and_equal_rows_have_no_variance)
