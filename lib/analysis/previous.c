/*
 * previous.c - the measure `previous`: the mean of the weight on the token before, over the queries
 * that have one. (TransformerLens's head_detector divides the sum by that of all weights, which
 * counts the first row too: T/(T-1) times less.)
 */
#include "analysis/metric.h"

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    const bool has_target = !row->is_cross && row->query > 0;

    return attn_metric_mean_of(has_target ? attn_metric_weight(&row->cells, row->query - 1) : 0,
                               has_target, terms);
}

static const struct attn_metric_value values_of_previous[] = {{"previous", NULL}};

const struct attn_metric attn_metric_previous = {
    .name = "previous",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_previous,
    .n_value = 1,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean,
};
