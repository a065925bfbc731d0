/* max.c - the measure `max`: the mean over the rows of their largest weight (the confidence of
 * Voita et al. 2019). */
#include "analysis/metric.h"

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_largest(&row->cells, 0, SIZE_MAX), row->cells.n > 0,
                               terms);
}

static const struct attn_metric_value values_of_max[] = {{"max", NULL}};

const struct attn_metric attn_metric_max = {
    .name = "max",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_max,
    .n_value = 1,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean,
};
