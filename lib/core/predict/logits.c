#include "predict/logits.h"

#include "base/elementary.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* Maps LOGIT to a sort key, descending; NaN gets the largest key. */
static uint32_t rank_key(float logit)
{
    const float x = logit + 0.0F; /* turns -0 into +0 */
    uint32_t bits;

    if (isnan(x))
        return UINT32_MAX;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? bits : bits ^ 0x7fffffff;
}

/* Does one stable pass of a radix sort from FROM [n] into TO, by the eight bits of the sort keys
 * above bit SHIFT. */
static void sort_by_bits(const struct attn_scored *from, size_t n, unsigned shift,
                         struct attn_scored *to)
{
    size_t next[256] = {0}, first = 0;

    for (size_t i = 0; i < n; i++)
        next[rank_key((float)from[i].logit) >> shift & 255]++;
    for (size_t i = 0; i < 256; i++) {
        const size_t count = next[i];

        next[i] = first;
        first += count;
    }
    for (size_t i = 0; i < n; i++)
        to[next[rank_key((float)from[i].logit) >> shift & 255]++] = from[i];
}

double attn_logits_rank(const float *logits, size_t n, struct attn_scored *ranked)
{
    struct attn_scored *other = ranked + n;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct attn_scored){(double)logits[i], (int32_t)i};
    for (unsigned shift = 0; shift < 32; shift += 16) {
        sort_by_bits(ranked, n, shift, other);
        sort_by_bits(other, n, shift + 8, ranked);
    }
    for (size_t i = n; i-- > 0;) /* adds the smallest terms first, which loses least */
        sum += attn_exp(ranked[i].logit - ranked[0].logit);
    return sum;
}

size_t attn_floats_first(const float *x, size_t n, size_t step)
{
    size_t first = 0;

    for (size_t i = 1; i < n; i++)
        if (x[i * step] > x[first * step] || (isnan(x[first * step]) && !isnan(x[i * step])))
            first = i;
    return first;
}

int32_t attn_logits_first(const float *logits, size_t n)
{
    return (int32_t)attn_floats_first(logits, n, 1);
}

double attn_logits_place(const float *logits, size_t n, int32_t id)
{
    const float own = logits[id];
    size_t n_larger = 0, n_equal = 0;

    for (size_t i = 0; i < n; i++) {
        n_larger += logits[i] > own || (isnan(own) && !isnan(logits[i]));
        n_equal += logits[i] == own || (isnan(own) && isnan(logits[i]));
    }
    return (double)n_larger + (double)(n_equal + 1) / 2;
}

double attn_logits_surprisal(const float *logits, size_t n, int32_t id)
{
    return attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n, NULL) - (double)logits[id];
}
