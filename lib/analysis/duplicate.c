/*
 * duplicate.c - the measure `duplicate`: how much of a row lies on earlier places of the same token.
 * The mean over the queries that have such a place; `n_duplicate` is how many have one. It needs
 * the ids of the tokens.
 */
#include "analysis/metric.h"

/* Whether query I finds at KEY what it looks for. */
static bool is_target(const int32_t *ids, size_t i, size_t key)
{
    return key < i && ids[key] == ids[i];
}

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of_targets(row, is_target, terms);
}

static const struct attn_metric_value values_of_duplicate[] = {{"duplicate", NULL},
                                                               {"n_duplicate", "rows"}};

const struct attn_metric attn_metric_duplicate = {
    .name = "duplicate",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_duplicate,
    .n_value = 2,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean_and_rows,
};
