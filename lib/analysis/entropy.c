/*
 * entropy.c - the measure `entropy`: how widely a head looks. Of a row -sum_j A_ij ln A_ij, in nats
 * (Clark et al. 2019, section 3.3; without smoothing, 0 ln 0 = 0). Query i sees i+1 keys, so that
 * `entropy` grows with its position; `entropy_norm` is divided by ln of the number of keys that it
 * sees, and rows that see one key are left out.
 */
#include "analysis/metric.h"
#include "kernels/kernels.h"

#include <math.h>

enum { N_ROW, ENTROPY, N_NORM, ENTROPY_NORM, N_TERM };

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    const struct attn_row *cells = &row->cells;

    terms[ENTROPY] = attn_kernels_find(ATTN_ISA_BEST)->entropy(cells->values, cells->n);
    terms[N_ROW] = 1;
    if (cells->n > 1) {
        terms[N_NORM] = 1;
        terms[ENTROPY_NORM] = terms[ENTROPY] / log((double)cells->n);
    }
    return cells->n > 0;
}

static void find_values(const double *sums, double *values)
{
    values[0] = sums[ENTROPY] / sums[N_ROW]; /* NaN without rows */
    values[1] = sums[ENTROPY_NORM] / sums[N_NORM];
}

static const struct attn_metric_value values_of_entropy[] = {{"entropy", "nats"},
                                                             {"entropy_norm", NULL}};

const struct attn_metric attn_metric_entropy = {
    .name = "entropy",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_entropy,
    .n_value = 2,
    .n_term = N_TERM,
    .row = find_terms,
    .finish = find_values,
};
