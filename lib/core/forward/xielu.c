/* xielu.c - see forward_internal.h. */
#include "forward/forward_internal.h"

#include "base/elementary.h"

#include <math.h>

static double value_at(const struct attn_xielu *of, double x)
{
    if (x > 0)
        return (of->a * x + of->beta) * x;
    return (attn_exp(fmin(x, of->eps)) - 1 - x) * of->c + of->beta * x;
}

static double slope_at(const struct attn_xielu *of, double x)
{
    if (x > 0)
        return 2 * of->a * x + of->beta;
    return ((x < of->eps ? attn_exp(x) : 0) - 1) * of->c + of->beta;
}

void attn_xielu_run(const struct attn_xielu *of, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)value_at(of, (double)x[i]);
}

void attn_xielu_back(const struct attn_xielu *of, const float *x, bool is_constant, size_t n,
                     float *dy)
{
    for (size_t i = 0; i < n; i++) {
        const double at = (double)x[i];
        const bool has_ratio = is_constant && at != 0;

        dy[i] *= (float)(has_ratio ? value_at(of, at) / at : slope_at(of, at));
    }
}
