/* near.c - see near.h. */
#include "tests/support/near.h"

#include "tests/support/assert.h"

#include <math.h>
#include <string.h>

double attn_assert_near(const char *what, const float *actual, const double *expected, size_t n,
                        double tolerance)
{
    double worst = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        double bound = fmax(1, fabs(expected[i]));
        double error = fabs((double)actual[i] - expected[i]) / bound;

        if (isinf(expected[i]) && (double)actual[i] == expected[i])
            continue;
        if (isnan(error))
            error = (double)INFINITY;
        if (error > worst)
            worst = error, at = i;
    }
    ck_assert_msg(worst <= tolerance, "%s[%zu] is %.9g, expected %.17g (off by %.3g, allowed %.3g)",
                  what, at, (double)actual[at], expected[at], worst, tolerance);
    return worst;
}

void attn_assert_same_bits(const char *what, const float *actual, const float *expected, size_t n)
{
    if (n == 0 || memcmp(actual, expected, n * sizeof *actual) == 0)
        return; /* Check notes every assertion in a file: one per element would be slow */
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(memcmp(&actual[i], &expected[i], sizeof(float)) == 0,
                      "%s[%zu] is %.9g (%a), expected the same bits as %.9g (%a)", what, i,
                      (double)actual[i], (double)actual[i], (double)expected[i],
                      (double)expected[i]);
}
