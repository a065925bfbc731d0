/* test_decompose.c - decompositions give back their matrix, and eigenvalues that are known. */
#include "base/random.h"
#include "measures/decompose.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { MOST = 24 };

/* Fills X [n] with numbers from -1 to 1. */
static void draw(struct attn_random *random, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 2 * attn_random_double(random) - 1;
}

/* Rows and columns of matrices. */
static const size_t sizes[][2] = {{1, 1}, {9, 4}, {6, 6}, {3, 5}};

/* Draws A [m, n], and decomposes it. */
static void draw_qr(struct attn_random *random, size_t m, size_t n, double *a, double *q,
                    double *tau, double *r)
{
    draw(random, a, m * n);
    memcpy(q, a, m * n * sizeof *a);
    attn_qr(q, m, n, tau);
    attn_qr_triangle(q, m, n, r);
}

/* R^T R is A^T A, also with fewer rows than columns, and R is 0 below its diagonal. */
START_TEST(qr_keeps_lengths_and_angles)
{
    struct attn_random random;

    attn_random_seed(&random, 7);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t m = sizes[s][0], n = sizes[s][1];
        double a[MOST * MOST], q[MOST * MOST], r[MOST * MOST], tau[2 * MOST];

        draw_qr(&random, m, n, a, q, tau, r);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double of_r = 0, of_a = 0;

                for (size_t k = 0; k < n; k++)
                    of_r += r[k * n + i] * r[k * n + j];
                for (size_t k = 0; k < m; k++)
                    of_a += a[k * n + i] * a[k * n + j];
                ck_assert_double_eq_tol(of_r, of_a, 1e-13);
                ck_assert(j >= i || !(fabs(r[i * n + j]) > 0));
            }
    }
}
END_TEST

/* Q R is A: Q turns the columns of R, to which rows of 0 are added, into those of A. */
START_TEST(qr_gives_back_its_matrix)
{
    struct attn_random random;

    attn_random_seed(&random, 11);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t m = sizes[s][0], n = sizes[s][1];
        double a[MOST * MOST], q[MOST * MOST], r[MOST * MOST], tau[2 * MOST];

        draw_qr(&random, m, n, a, q, tau, r);
        for (size_t j = 0; j < n; j++) {
            double x[MOST] = {0};

            for (size_t i = 0; i < m && i < n; i++)
                x[i] = r[i * n + j];
            attn_qr_apply(q, m, n, tau, x);
            for (size_t i = 0; i < m; i++)
                ck_assert_double_eq_tol(x[i], a[i * n + j], 1e-14);
        }
    }
}
END_TEST

/* U diag(s) V^T is K, also if K has half of its rank, and s falls. */
START_TEST(svd_gives_back_its_matrix)
{
    struct attn_random random;

    attn_random_seed(&random, 3);
    for (size_t n = 1; n <= MOST; n += 4) {
        double k[MOST * MOST], work[MOST * MOST], u[MOST * MOST], v[MOST * MOST], s[MOST];

        draw(&random, k, n * n);
        for (size_t i = 0; i < n / 2 * n; i++) /* rows that are others twice */
            k[n * n - 1 - i] = 2 * k[i];
        memcpy(work, k, n * n * sizeof *k);
        attn_svd(work, n, s, u, v);
        for (size_t i = 0; i < n; i++) {
            ck_assert(i == 0 || s[i] <= s[i - 1]);
            for (size_t j = 0; j < n; j++) {
                double sum = 0;

                for (size_t x = 0; x < n; x++)
                    sum += u[x * n + i] * s[x] * v[x * n + j];
                ck_assert_double_eq_tol(sum, k[i * n + j], 1e-13);
            }
        }
    }
}
END_TEST

/* A matrix whose polynomial has the roots 1, 2, 3 and 1 +- 2i; one of a rotation, where plain steps
 * go round in a circle; sums and sizes of drawn ones by their traces. */
START_TEST(eigenvalues_are_roots)
{
    /* (x - 1)(x - 2)(x - 3)(x^2 - 2x + 5) = x^5 - 8x^4 + 28x^3 - 58x^2 + 67x - 30 */
    double companion[25] = {8, -28, 58, -67, 30, 1, 0, 0, 0, 0, 0, 1, 0,
                            0, 0,   0,  0,   1,  0, 0, 0, 0, 0, 1, 0};
    double turn[16] = {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    double real[MOST], imaginary[MOST], sum = 0;
    size_t n_complex = 0;
    struct attn_random random;

    ck_assert(attn_eigenvalues(companion, 5, real, imaginary));
    for (size_t i = 0; i < 5; i++) {
        const double x = real[i], y = imaginary[i];

        sum += x;
        n_complex += y != 0;
        ck_assert(y == 0 ? fabs((x - 1) * (x - 2) * (x - 3)) < 1e-10
                         : fabs(x - 1) < 1e-11 && fabs(fabs(y) - 2) < 1e-11);
    }
    ck_assert_double_eq_tol(sum, 8, 1e-11);
    ck_assert_uint_eq(n_complex, 2);
    ck_assert(attn_eigenvalues(turn, 4, real, imaginary));
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq_tol(real[i] * real[i] + imaginary[i] * imaginary[i], 1, 1e-14);
    attn_random_seed(&random, 5);
    for (size_t n = 1; n <= MOST; n++) {
        double k[MOST * MOST], trace = 0, squares = 0;

        draw(&random, k, n * n);
        for (size_t i = 0; i < n; i++)
            trace += k[i * n + i];
        for (size_t i = 0; i < n * n; i++) /* the trace of K K */
            squares += k[i] * k[i % n * n + i / n];
        ck_assert(attn_eigenvalues(k, n, real, imaginary));
        for (size_t i = 0; i < n; i++) {
            trace -= real[i];
            squares -= real[i] * real[i] - imaginary[i] * imaginary[i];
        }
        ck_assert_double_eq_tol(trace, 0, 1e-12);
        ck_assert_double_eq_tol(squares, 0, 1e-12);
    }
}
END_TEST

ATTN_SUITE("decompose", qr_keeps_lengths_and_angles, qr_gives_back_its_matrix,
           svd_gives_back_its_matrix, eigenvalues_are_roots)
