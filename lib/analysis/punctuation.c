/*
 * punctuation.c - the measure `punctuation`: how much of a row lies on punctuation, be it the query
 * itself (Clark et al. 2019 find heads that look at commas and full stops). The mean over the
 * queries that have punctuation at or before them; `n_punctuation` is how many have. A token is
 * punctuation when its text, without white space around it, is of Unicode's categories P alone: so
 * a token that is a part of a character is none. It needs the texts of the tokens.
 */
#include "analysis/metric.h"

/* The keys before which the row looks: all up to the query, and those after it without a mask. */
static size_t end_of_keys(const struct attn_metric_row *row)
{
    const struct attn_row *cells = &row->cells;
    const size_t end =
        !cells->keys || cells->n == 0 ? cells->n : (size_t)cells->keys[cells->n - 1] + 1;

    return end > row->query ? end : row->query + 1;
}

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    const struct attn_metric_places *places = row->places;
    double sum = 0;
    size_t n = 0;

    if (!places || row->is_cross)
        return false;
    for (const size_t end = end_of_keys(row);
         n < places->n_punctuation && (size_t)places->punctuation[n] < end; n++)
        sum += attn_metric_weight(&row->cells, (size_t)places->punctuation[n]);
    return attn_metric_mean_of(sum, n > 0, terms);
}

static const struct attn_metric_value values_of_punctuation[] = {{"punctuation", NULL},
                                                                 {"n_punctuation", "rows"}};

const struct attn_metric attn_metric_punctuation = {
    .name = "punctuation",
    .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
    .values = values_of_punctuation,
    .n_value = 2,
    .search = ATTN_METRIC_PUNCTUATION,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = find_terms,
    .finish = attn_metric_mean_and_rows,
};
