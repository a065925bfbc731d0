/* sums.c - see sums.h.
 *
 * A sum of n products that are added one by one has an error of at most n u times the sum of the
 * absolute values of its terms, u = 2^-24 (Jeannerod and Rump 2013, doi 10.1137/120894488). Terms
 * of equal size come close to this bound, because all are rounded in the same direction. Products
 * below FLT_MIN may be lost, too. A fixed absolute tolerance would not do: with 100,000 keys,
 * weights are smaller than it. */
#include "trials/sums.h"

#include "base/status_internal.h"

#include <float.h>
#include <math.h>

static const double unit_roundoff = 0x1p-24;

/* A product of two factors that were rounded to bfloat16 has a relative error of at most 2^-8. A
 * term is the result of up to four products, one after the other. */
static const double bf16_error = 4 * 0x1p-8;

/* further roundings, with a margin: scale, exponential, quotient, length and rotation */
enum { OTHER_ROUNDINGS = 32 };

bool attn_sum_is_right(const struct attn_sum *sum, double found)
{
    const double n = sum->n_rounded + OTHER_ROUNDINGS;
    const double error = n * unit_roundoff + (sum->compute == ATTN_COMPUTE_BF16 ? bf16_error : 0);

    if (isfinite(found))
        return fabs(sum->value - found) <= error * sum->size + n * (double)FLT_MIN;
    if (isfinite(sum->size) && sum->size * (1 + error) > (double)FLT_MAX) /* the run overflowed */
        return true;
    /* arrays may contain infinity and NaN */
    return isnan(found) ? isnan(sum->value) : sum->value == found;
}

enum attn_status attn_sum_check(const struct attn_sum *sum, const char *parts, double found,
                                struct attn_error *err)
{
    return attn_sum_is_right(sum, found)
               ? ATTN_OK
               : attn_refuse(err, ATTN_STAGE_CHECK,
                             "the %s add up to %.7g, but the number of the model is %.7g", parts,
                             sum->value, found);
}
