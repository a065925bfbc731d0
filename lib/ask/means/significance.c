#include "means/significance.h"

#include "base/text/number.h"

#include <math.h>
#include <stdlib.h>

/* Computes the continued fraction of the incomplete beta function I_x(a, b) with Lentz's method
 * (DLMF 8.17.22). It needs about sqrt(a) steps if x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    enum { MOST_STEPS = 100000 };
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), value = d, factor = 0;

    for (int m = 1; m < MOST_STEPS && fabs(factor - 1) > 4e-16; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        d = 1 / (1 + even * d);
        c = 1 + even / c;
        value *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        factor = d * c;
        value *= factor;
    }
    return value;
}

/* Returns x^n by repeated squaring. */
static double power(double x, size_t n)
{
    double result = 1;

    for (; n > 0; n >>= 1) {
        result *= n & 1 ? x : 1;
        x *= x;
    }
    return result;
}

double attn_student_tails(double t, size_t df)
{
    const double n = (double)df, a = n / 2, b = 0.5;
    const double x = 1 / (1 + t * t / n), y = 1 / (1 + n / (t * t)); /* x + y = 1 */
    double front = df % 2 == 1 ? 1 / 3.14159265358979323846 : 0.5; /* 1 / B(a, b) for df 1 and 2 */

    for (size_t k = 2 - df % 2; k < df; k += 2) /* B(a + 1, b) = B(a, b) a / (a + b) */
        front *= ((double)k + 1) / (double)k;
    front *= power(sqrt(x), df) * sqrt(y);
    if (isnan(t))
        return t;
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, y) / b;
}

static int by_number(const void *a, const void *b)
{
    return attn_compare_numbers(**(double *const *)a, **(double *const *)b);
}

void attn_false_discovery(double *p, size_t n, double **order)
{
    size_t n_known = n;
    double q = 1;

    for (size_t i = 0; i < n; i++)
        order[i] = &p[i];
    qsort(order, n, sizeof *order, by_number);
    while (n_known > 0 && isnan(*order[n_known - 1]))
        n_known--;
    for (size_t i = n_known; i-- > 0;) {
        q = fmin(q, *order[i] * (double)n_known / (double)(i + 1));
        *order[i] = q;
    }
}

double attn_rank_share(const double *drawn, size_t n, double x)
{
    size_t n_above = 0;

    for (size_t i = 0; i < n; i++)
        n_above += fabs(drawn[i]) >= fabs(x);
    return (1 + (double)n_above) / (1 + (double)n);
}
