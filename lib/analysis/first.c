/* first.c - the measure `first`: the mean of the weight on the first key, over the queries after
 * the first, which often has nothing else to look at. */
#include "analysis/metric.h"

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_weight(&row->cells, 0), !row->is_cross && row->query > 0,
                               terms);
}

static const struct attn_metric_value values_of_first[] = {{"first", NULL}};

const struct attn_metric attn_metric_first = {
    .name = "first",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_first,
    .n_value = 1,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean,
};
