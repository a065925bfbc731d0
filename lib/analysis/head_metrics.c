/* head_metrics.c - the measures of where a head looks, from the rows of its pattern A: i is a
 * query, j a key. Without another word a measure is the mean over the rows that have such keys;
 * where keys are rows of a source, none has. */
#include "analysis/metric.h"
#include "base/elementary.h"
#include "kernels/kernels.h"

/* A measure of N_VALUES values, from N_TERMS terms that LABEL_row finds. */
#define METRIC(label, n_values, n_terms, look_for, finish_by)                                      \
    const struct attn_metric attn_metric_##label = {.name = #label,                                \
                                                    .n_value = (n_values),                         \
                                                    .n_term = (n_terms),                           \
                                                    .search = (look_for),                          \
                                                    .row = label##_row,                            \
                                                    .finish = (finish_by)}
#define MEAN(label)                                                                                \
    METRIC(label, 1, ATTN_METRIC_MEAN_TERMS, ATTN_METRIC_NO_PLACES, attn_metric_mean)
/* Also the number of rows. */
#define MEAN_AND_ROWS(label, look_for)                                                             \
    METRIC(label, 2, ATTN_METRIC_MEAN_TERMS, look_for, attn_metric_mean_and_rows)

/* --- How widely ------------------------------------------------------------------------------- */

enum { N_ROW, ENTROPY, N_NORM, ENTROPY_NORM, N_ENTROPY_TERM };

/* Cells of ROW without those that a mask of keys hides. */
static size_t count_seen(const struct attn_metric_row *row)
{
    const struct attn_row *cells = &row->cells;
    const int32_t *mask = row->is_cross ? row->settings->source_mask : row->settings->key_mask;
    size_t n = 0;

    if (!mask)
        return cells->n;
    for (size_t i = 0; i < cells->n; i++)
        n += mask[cells->keys ? (size_t)cells->keys[i] : i] != 0;
    return n;
}

/* entropy: -sum_j A_ij ln A_ij, in nats (Clark et al. 2019, section 3.3; without smoothing, 0 ln 0
 * = 0). Query i sees i+1 keys, so that it grows with its position; `entropy_norm` is divided by ln
 * of the number of keys that it sees, and rows that see one key are left out. */
static bool entropy_row(const struct attn_metric_row *row, double *terms)
{
    const struct attn_row *cells = &row->cells;
    const size_t n_seen = count_seen(row);

    terms[ENTROPY] = attn_kernels_find(ATTN_ISA_BEST)->entropy(cells->values, cells->n);
    terms[N_ROW] = 1;
    if (n_seen > 1) {
        terms[N_NORM] = 1;
        terms[ENTROPY_NORM] = terms[ENTROPY] / attn_log((double)n_seen);
    }
    return cells->n > 0;
}

static void entropy_values(const double *sums, double *values)
{
    values[0] = sums[ENTROPY] / sums[N_ROW]; /* NaN without rows */
    values[1] = sums[ENTROPY_NORM] / sums[N_NORM];
}

METRIC(entropy, 2, N_ENTROPY_TERM, ATTN_METRIC_NO_PLACES, entropy_values);

/* max: the largest weight of a row (the confidence of Voita et al. 2019). */
static bool max_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_largest(&row->cells, 0, SIZE_MAX), row->cells.n > 0,
                               terms);
}

MEAN(max);

/* --- How far ---------------------------------------------------------------------------------- */

enum { MOMENT, WEIGHT, N_DISTANCE_TERM };

/* distance: how far back, in tokens: sum A_ij (i - j) / sum A_ij (Vig and Belinkov 2019). */
static bool distance_row(const struct attn_metric_row *row, double *terms)
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

static void distance_values(const double *sums, double *values)
{
    values[0] = sums[MOMENT] / sums[WEIGHT]; /* NaN without rows */
}

METRIC(distance, 1, N_DISTANCE_TERM, ATTN_METRIC_NO_PLACES, distance_values);

/* --- On which keys ---------------------------------------------------------------------------- */

/* self: the weight of a token on itself. */
static bool self_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_weight(&row->cells, row->query), !row->is_cross, terms);
}

MEAN(self);

/* previous: the weight on the token before, for queries that have one. (TransformerLens's
 * head_detector divides by the sum of all weights, first row included: T/(T-1) times less.) */
static bool previous_row(const struct attn_metric_row *row, double *terms)
{
    const bool has_target = !row->is_cross && row->query > 0;

    return attn_metric_mean_of(has_target ? attn_metric_weight(&row->cells, row->query - 1) : 0,
                               has_target, terms);
}

MEAN(previous);

/* first: the weight on the first key, for the queries after the first. Queries often attend to it
 * when no other key matches. */
static bool first_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_weight(&row->cells, 0), !row->is_cross && row->query > 0,
                               terms);
}

MEAN(first);

/* far: how hard a head looks at something that is not the first token, the previous one or the
 * token itself: of queries i >= 2 the largest weight on a key j with 0 < j < i - 1. */
static bool far_row(const struct attn_metric_row *row, double *terms)
{
    const bool has_keys = !row->is_cross && row->query >= 2;

    return attn_metric_mean_of(has_keys ? attn_metric_largest(&row->cells, 1, row->query - 1) : 0,
                               has_keys, terms);
}

MEAN(far);

/* --- On which tokens -------------------------------------------------------------------------- */

/* duplicate: the weight on earlier places of the same token. It needs the ids of the tokens. */
static bool duplicate_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_after(row, 0, terms);
}

MEAN_AND_ROWS(duplicate, ATTN_METRIC_REPETITIONS);

/* induction: the weight on tokens that follow an earlier place of the same token (Olsson et al.
 * 2022). It needs the ids of the tokens. */
static bool induction_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_after(row, 1, terms);
}

MEAN_AND_ROWS(induction, ATTN_METRIC_REPETITIONS);

/* The end of the keys that ROW sees. */
static size_t end_of_keys(const struct attn_metric_row *row)
{
    const struct attn_row *cells = &row->cells;

    return !cells->keys || cells->n == 0 ? cells->n : (size_t)cells->keys[cells->n - 1] + 1;
}

/* The mean of the weight on marks, over the queries that see some or have some before them. */
static bool add_marks(const struct attn_metric_row *row, double *terms)
{
    const struct attn_metric_places *places = row->places;
    const struct attn_row *cells = &row->cells;
    size_t end = end_of_keys(row);
    double sum = 0;
    size_t n = 0;

    if (!places || row->is_cross)
        return false;
    end = end > row->query ? end : row->query + 1; /* without a mask also those after the query */
    for (; n < places->n_mark && (size_t)places->marks[n] < end; n++)
        sum += attn_metric_weight(cells, (size_t)places->marks[n]);
    return attn_metric_mean_of(sum, n > 0, terms);
}

/* punctuation: the weight on punctuation, including the query itself (Clark et al. 2019 find heads
 * that look at commas and full stops), for queries that have punctuation at or before them. A token
 * is punctuation if its text, without white space around it, has only characters of Unicode's
 * categories P; a token that is a part of a character is not. Needs the texts of the tokens. */
static bool punctuation_row(const struct attn_metric_row *row, double *terms)
{
    return add_marks(row, terms);
}

MEAN_AND_ROWS(punctuation, ATTN_METRIC_PUNCTUATION);

/* separator: the weight on [SEP] and </s> (Clark et al. 2019: over half of the attention of BERT's
 * middle layers). It needs the texts of the tokens. */
static bool separator_row(const struct attn_metric_row *row, double *terms)
{
    return add_marks(row, terms);
}

MEAN_AND_ROWS(separator, ATTN_METRIC_SEPARATORS);

/* next: the weight on the token after, for queries that see it. */
static bool next_row(const struct attn_metric_row *row, double *terms)
{
    const bool has_target = !row->is_cross && end_of_keys(row) > row->query + 1;

    return attn_metric_mean_of(has_target ? attn_metric_weight(&row->cells, row->query + 1) : 0,
                               has_target, terms);
}

MEAN(next);
