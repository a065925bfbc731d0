/* distance.c - the measure `distance`: how far back a head looks, in tokens. sum A_ij (i - j) over
 * sum A_ij, both over all rows (Vig and Belinkov 2019). */
#include "analysis/metric.h"

enum { MOMENT, WEIGHT, N_TERM };

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    struct attn_row cells = row->cells;
    struct attn_cells run;
    double moment = 0, sum = 0;

    while (!row->is_cross && attn_row_next(&cells, &run))
        for (size_t i = 0; i < run.n; i++) {
            const double weight = (double)run.values[i];

            moment += weight * ((double)row->query - (double)(run.first + i));
            sum += weight;
        }
    terms[MOMENT] = moment;
    terms[WEIGHT] = sum;
    return !row->is_cross;
}

static void find_values(const double *sums, double *values)
{
    values[0] = sums[MOMENT] / sums[WEIGHT]; /* NaN without rows */
}

static const struct attn_metric_value values_of_distance[] = {{"distance", "tokens"}};

const struct attn_metric attn_metric_distance = {
    .name = "distance",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_distance,
    .n_value = 1,
    .n_term = N_TERM,
    .row = find_terms,
    .finish = find_values,
};
