/*
 * far.c - the measure `far`: how hard a head looks at something that is not the first token, the
 * previous one or the token itself. The mean over queries i >= 2 of the largest weight on a key j
 * with 0 < j < i - 1.
 */
#include "analysis/metric.h"

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    const bool has_keys = !row->is_cross && row->query >= 2;

    return attn_metric_mean_of(has_keys ? attn_metric_largest(&row->cells, 1, row->query - 1) : 0,
                               has_keys, terms);
}

static const struct attn_metric_value values_of_far[] = {{"far", NULL}};

const struct attn_metric attn_metric_far = {
    .name = "far",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_far,
    .n_value = 1,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean,
};
