/* test_significance.c - p values and false discovery rates, against mpmath, scipy and statsmodels.
 */
#include "means/significance.h"

#include "tests/support/suite.h"

#include <math.h>

/* I_x(df / 2, 1 / 2) with x = df / (df + t^2), by mpmath.betainc with 40 digits; equal to
 * 2 * scipy.stats.t.sf(t, df) of scipy 1.17.1 to 1e-13 of each. */
START_TEST(tails_are_those_of_scipy)
{
    static const struct {
        double t;
        size_t df;
        double p;
    } golden[] = {
        {0, 1, 1},
        {0.5, 1, 0.70483276469913347},
        {1, 1, 0.5},
        {2.5, 1, 0.24223788318168679},
        {8, 1, 0.079166848321131078},
        {40, 1, 0.015912179824051628},
        {0, 2, 1},
        {0.5, 2, 0.66666666666666663},
        {1, 2, 0.42264973081037421},
        {2.5, 2, 0.1296117202215108},
        {8, 2, 0.015268072165338138},
        {40, 2, 0.0006244146721847406},
        {0, 3, 1},
        {0.5, 3, 0.65144796484815104},
        {1, 3, 0.39100221895577064},
        {2.5, 3, 0.087706647008065547},
        {8, 3, 0.0040765775877854684},
        {40, 3, 3.4380680789158526e-05},
        {0, 5, 1},
        {0.5, 5, 0.63829887164092902},
        {1, 5, 0.36321746764912261},
        {2.5, 5, 0.054490099342376239},
        {8, 5, 0.00049290666057244406},
        {40, 5, 1.8411962171772954e-07},
        {0, 23, 1},
        {0.5, 23, 0.62182527524232833},
        {1, 23, 0.32771580614285856},
        {2.5, 23, 0.019994122327887085},
        {8, 23, 4.2891915196762247e-08},
        {40, 23, 9.1288074530559391e-23},
        {0, 95, 1},
        {0.5, 95, 0.61823128514530312},
        {1, 95, 0.31985085360402654},
        {2.5, 95, 0.014133447840502222},
        {8, 95, 3.0104935131762517e-12},
        {40, 95, 3.0234667619427e-61},
        {0, 999, 1},
        {0.5, 999, 0.61718519093028945},
        {1, 999, 0.31755266017641237},
        {2.5, 999, 0.01257872758450922},
        {8, 999, 3.4299982577635959e-15},
        {40, 999, 1.2426421196271424e-209},
        {0, 100000, 1},
        {0.5, 100000, 0.61707617765441802},
        {1, 100000, 0.31731292756411},
        {2.5, 100000, 0.012420919192559046},
        {8, 100000, 1.2573919876256373e-15},
    };

    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const double p = attn_student_tails(golden[i].t, golden[i].df);
        const double bound = 1e-15 * (100 + (double)golden[i].df); /* x^(df/2) */

        ck_assert_msg(fabs(p - golden[i].p) <= bound * golden[i].p, "t %g df %zu: %.17g, not %.17g",
                      golden[i].t, golden[i].df, p, golden[i].p);
        ck_assert(attn_student_tails(-golden[i].t, golden[i].df) == p);
    }
    ck_assert(attn_student_tails((double)INFINITY, 7) == 0);
    ck_assert(attn_student_tails(1e200, 3) >= 0);
    ck_assert(isnan(attn_student_tails((double)NAN, 7)));
}
END_TEST

/* scipy.stats.false_discovery_control(p), and statsmodels' multipletests(p, method="fdr_bh"). */
START_TEST(false_discovery_is_that_of_scipy)
{
    const double nan = (double)NAN;
    double p[] = {0.01, nan, 0.04, 0.03, 0.005, 0.5, 0.03, nan, 1.0, 0.2};
    const double q[] = {
        0.04, nan, 0.064, 0.06, 0.04, 0.5714285714285714, 0.06, nan, 1.0, 0.26666666666666666};
    enum { N = sizeof p / sizeof *p };
    double *order[N];

    attn_false_discovery(p, N, order);
    for (size_t i = 0; i < N; i++)
        ck_assert(isnan(q[i]) ? isnan(p[i]) : fabs(p[i] - q[i]) < 1e-15);
    attn_false_discovery(p, 0, order);
}
END_TEST

START_TEST(rank_counts_what_is_as_large)
{
    static const double drawn[] = {-3, 0.5, 2, -1};

    ck_assert(attn_rank_share(drawn, 4, 2) == 3.0 / 5); /* -3 and 2 */
    ck_assert(attn_rank_share(drawn, 4, -4) == 1.0 / 5);
    ck_assert(attn_rank_share(drawn, 4, 0) == 1);
}
END_TEST

ATTN_SUITE("significance", tails_are_those_of_scipy, false_discovery_is_that_of_scipy,
           rank_counts_what_is_as_large)
