/* self.c - the measure `self`: the mean over the rows of the weight of a token on itself. */
#include "analysis/metric.h"

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_weight(&row->cells, row->query), !row->is_cross, terms);
}

static const struct attn_metric_value values_of_self[] = {{"self", NULL}};

const struct attn_metric attn_metric_self = {
    .name = "self",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_self,
    .n_value = 1,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean,
};
