/*
 * induction.c - the measure `induction`: how much of a row lies on tokens that follow an earlier
 * place of the same token (Olsson et al. 2022). The mean over the queries that have such a key;
 * `n_induction` is how many have one. It needs the ids of the tokens.
 */
#include "analysis/metric.h"

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_after(row, 1, terms);
}

static const struct attn_metric_value values_of_induction[] = {{"induction", NULL},
                                                               {"n_induction", "rows"}};

const struct attn_metric attn_metric_induction = {
    .name = "induction",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_induction,
    .n_value = 2,
    .search = ATTN_METRIC_REPETITIONS,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean_and_rows,
};
