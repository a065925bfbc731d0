/*
 * duplicate.c - the measure `duplicate`: how much of a row lies on earlier places of the same
 * token. The mean over the queries that have such a place; `n_duplicate` is how many have one. It
 * needs the ids of the tokens.
 */
#include "analysis/metric.h"

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_after(row, 0, terms);
}

static const struct attn_metric_value values_of_duplicate[] = {{"duplicate", NULL},
                                                               {"n_duplicate", "rows"}};

const struct attn_metric attn_metric_duplicate = {
    .name = "duplicate",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_duplicate,
    .n_value = 2,
    .search = ATTN_METRIC_REPETITIONS,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean_and_rows,
};
