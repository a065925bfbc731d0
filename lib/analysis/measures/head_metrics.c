/* head_metrics.c - the measures of where a head looks, from the rows of its pattern A; i is a
 * query, j a key. A measure is the mean over the rows that see such keys, unless its comment says
 * otherwise. If keys are rows of a source, a row counts only for the measures that say so. */
#include "base/elementary.h"
#include "kernels/kernels.h"
#include "measures/metric.h"

#include <math.h>

/* Defines attn_metric_LABEL: a measure with N_VALUES values, computed from the N_TERMS terms that
 * LABEL_row finds. */
#define METRIC(label, n_values, n_terms, look_for, finish_by)                                      \
    const struct attn_metric attn_metric_##label = {.name = #label,                                \
                                                    .n_value = (n_values),                         \
                                                    .n_term = (n_terms),                           \
                                                    .search = (look_for),                          \
                                                    .row = label##_row,                            \
                                                    .finish = (finish_by)}
#define MEAN(label)                                                                                \
    METRIC(label, 1, ATTN_METRIC_MEAN_TERMS, ATTN_METRIC_NO_PLACES, attn_metric_mean)
/* A mean, and as a second value the number of rows. */
#define MEAN_AND_ROWS(label, look_for)                                                             \
    METRIC(label, 2, ATTN_METRIC_MEAN_TERMS, look_for, attn_metric_mean_and_rows)

/* --- How widely ------------------------------------------------------------------------------- */

enum { N_ROW, ENTROPY, N_NORM, ENTROPY_NORM, N_ENTROPY_TERM };

/* Returns the mask of the keys of ROW; NULL: it has none. */
static const int32_t *mask_of(const struct attn_metric_row *row)
{
    if (!row->settings)
        return NULL;
    return row->is_cross ? row->settings->source_mask : row->settings->key_mask;
}

/* Returns the number of cells of ROW that the mask of keys does not hide. */
static size_t count_seen(const struct attn_metric_row *row)
{
    const struct attn_row *cells = &row->cells;
    const int32_t *mask = mask_of(row);
    size_t n = 0;

    if (!mask)
        return cells->n;
    for (size_t i = 0; i < cells->n; i++)
        n += mask[cells->keys ? (size_t)cells->keys[i] : i] != 0;
    return n;
}

/* Returns the part of ROW's weight that no key has. It goes to the sink; 0 if the heads have no
 * sinks. */
static double find_rest(const struct attn_metric_row *row)
{
    double rest = 1;

    for (size_t i = 0; row->settings->has_sinks && i < row->cells.n; i++)
        rest -= (double)row->cells.values[i];
    return row->settings->has_sinks && rest > 1e-6 ? rest : 0; /* a smaller rest is rounding */
}

/* entropy: -sum_j A_ij ln A_ij, in nats (Clark et al. 2019, section 3.3; without smoothing, 0 ln 0
 * = 0). Query i sees i+1 keys, so the entropy grows with the position. `entropy_norm` is divided by
 * ln of the number of keys that the query sees; rows that see one key are left out. A sink counts
 * as one more key. */
static bool entropy_row(const struct attn_metric_row *row, double *terms)
{
    const struct attn_row *cells = &row->cells;
    const size_t n_seen = count_seen(row) + row->settings->has_sinks;
    const double rest = find_rest(row);

    terms[ENTROPY] = attn_kernels_find(ATTN_ISA_BEST)->entropy(cells->values, cells->n, NULL) -
                     (rest > 0 ? rest * attn_log(rest) : 0);
    terms[N_ROW] = 1;
    if (n_seen > 1) {
        terms[N_NORM] = 1;
        terms[ENTROPY_NORM] = terms[ENTROPY] / attn_log((double)n_seen);
    }
    return cells->n > 0;
}

/* Fills two means. SUMS has a number of rows and a sum for each. */
static void two_means(const double *sums, double *values)
{
    values[0] = sums[1] / sums[0]; /* NaN if there are no rows */
    values[1] = sums[3] / sums[2];
}

METRIC(entropy, 2, N_ENTROPY_TERM, ATTN_METRIC_NO_PLACES, two_means);

/* max: the largest weight of a row (the confidence of Voita et al. 2019). */
static bool max_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_largest(&row->cells, 0, SIZE_MAX), row->cells.n > 0,
                               terms);
}

MEAN(max);

/* sink: the part of the weight that no key has (Xiao et al. 2309.17453; gpt-oss). */
static bool sink_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(find_rest(row), row->settings->has_sinks && row->cells.n > 0, terms);
}

MEAN(sink);

/* --- How far ---------------------------------------------------------------------------------- */

enum { MOMENT, SIZE, WEIGHT, N_DISTANCE_TERM };

/* distance: how far back a head looks, in tokens: sum A_ij (i - j) / sum A_ij (Vig and Belinkov
 * 2019). The second value is how far away: sum A_ij |i - j| / sum A_ij. */
static bool distance_row(const struct attn_metric_row *row, double *terms)
{
    struct attn_row cells = row->cells;
    struct attn_cells run;
    double moment = 0, size = 0, sum = 0;

    while (!row->is_cross && attn_row_next(&cells, &run))
        for (size_t i = 0; i < run.n; i++) {
            const double weight = (double)run.values[i];
            const double distance = (double)row->query - (double)(run.first + i);

            moment += weight * distance;
            size += weight * fabs(distance);
            sum += weight;
        }
    terms[MOMENT] = moment;
    terms[SIZE] = size;
    terms[WEIGHT] = sum;
    return !row->is_cross;
}

static void distance_values(const double *sums, double *values)
{
    values[0] = sums[MOMENT] / sums[WEIGHT]; /* NaN if there are no rows */
    values[1] = sums[SIZE] / sums[WEIGHT];
}

METRIC(distance, 2, N_DISTANCE_TERM, ATTN_METRIC_NO_PLACES, distance_values);

/* --- On which keys ---------------------------------------------------------------------------- */

enum { N_ALL, ALL, N_LATER, LATER, N_SELF_TERM };

/* self: the weight of a token on itself. The second value leaves out the first row. */
static bool self_row(const struct attn_metric_row *row, double *terms)
{
    terms[N_ALL] = 1;
    terms[ALL] = attn_metric_weight(&row->cells, row->query);
    terms[N_LATER] = row->query > 0;
    terms[LATER] = row->query > 0 ? terms[ALL] : 0;
    return !row->is_cross;
}

METRIC(self, 2, N_SELF_TERM, ATTN_METRIC_NO_PLACES, two_means);

/* previous: the weight on the token before, for queries that have one. (TransformerLens's
 * head_detector divides by the sum of all weights, also those of the first row, so its value is
 * T/(T-1) times smaller.) */
static bool previous_row(const struct attn_metric_row *row, double *terms)
{
    const bool has_target = !row->is_cross && row->query > 0;

    return attn_metric_mean_of(has_target ? attn_metric_weight(&row->cells, row->query - 1) : 0,
                               has_target, terms);
}

MEAN(previous);

/* first: the weight on the first key, for all queries but the first. Queries often attend to it
 * when no other key matches. */
static bool first_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_of(attn_metric_weight(&row->cells, 0), !row->is_cross && row->query > 0,
                               terms);
}

MEAN(first);

/* Whether ROW sees a key from FIRST to END - 1. */
static bool sees_some(const struct attn_metric_row *row, size_t first, size_t end)
{
    const struct attn_row *cells = &row->cells;
    const int32_t *mask = mask_of(row);

    for (size_t i = cells->keys ? 0 : first; i < cells->n; i++) {
        const size_t key = cells->keys ? (size_t)cells->keys[i] : i;

        if (key >= end)
            break;
        if (key >= first && (!mask || mask[key] != 0))
            return true;
    }
    return false;
}

/* Adds the largest weight on a row of the source except its first and its last. */
static bool far_in_source(const struct attn_metric_row *row, double *terms)
{
    const size_t end = attn_metric_source_last(row);

    return attn_metric_mean_of(attn_metric_largest(&row->cells, 1, end), sees_some(row, 1, end),
                               terms);
}

/* Adds the largest weight on a token except the first, the previous and the query itself. */
static bool far_in_text(const struct attn_metric_row *row, double *terms)
{
    const size_t query = row->query, end = query > 0 ? query - 1 : 0;
    const struct attn_row *cells = &row->cells;
    const double before = attn_metric_largest(cells, 1, end);
    const double after = attn_metric_largest(cells, query + 1, SIZE_MAX);
    const bool has_keys = sees_some(row, 1, end) || sees_some(row, query + 1, SIZE_MAX);

    return attn_metric_mean_of(before > after || isnan(before) ? before : after, has_keys, terms);
}

/* far: how strongly a head looks at something else than the places where heads look anyway. Only
 * queries that see such a key count. */
static bool far_row(const struct attn_metric_row *row, double *terms)
{
    return row->is_cross ? far_in_source(row, terms) : far_in_text(row, terms);
}

MEAN_AND_ROWS(far, ATTN_METRIC_NO_PLACES);

/* --- On which tokens -------------------------------------------------------------------------- */

/* duplicate: the weight on earlier positions of the same token. Needs the ids of the tokens. */
static bool duplicate_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_after(row, 0, terms);
}

MEAN_AND_ROWS(duplicate, ATTN_METRIC_REPETITIONS);

/* induction: the weight on the tokens that follow an earlier position of the same token (Olsson et
 * al. 2022). Needs the ids of the tokens. */
static bool induction_row(const struct attn_metric_row *row, double *terms)
{
    return attn_metric_mean_after(row, 1, terms);
}

MEAN_AND_ROWS(induction, ATTN_METRIC_REPETITIONS);

/* Adds the weight on marks, if there is a mark among the keys that the query sees or at or before
 * the query. */
static bool add_marks(const struct attn_metric_row *row, double *terms)
{
    const struct attn_metric_places *places = row->places;
    const struct attn_row *cells = &row->cells;
    size_t end = attn_metric_keys_end(row);
    double sum = 0;
    size_t n = 0;

    if (!places || row->is_cross)
        return false;
    /* Without a causal mask, also marks after the query. */
    end = end > row->query ? end : row->query + 1;
    for (; n < places->n_mark && (size_t)places->marks[n] < end; n++)
        sum += attn_metric_weight(cells, (size_t)places->marks[n]);
    return attn_metric_mean_of(sum, n > 0, terms);
}

/* punctuation: the weight on punctuation, the query itself included (Clark et al. 2019 find heads
 * that look at commas and full stops). Only queries with punctuation at or before them count. A
 * token is punctuation if its text, without white space at the ends, has only characters of
 * Unicode's categories P; a token that is a part of a character is not. Needs the texts of the
 * tokens. */
static bool punctuation_row(const struct attn_metric_row *row, double *terms)
{
    return add_marks(row, terms);
}

MEAN_AND_ROWS(punctuation, ATTN_METRIC_PUNCTUATION);

/* separator: the weight on [SEP] and </s>, which get over half of the attention in BERT's middle
 * layers (Clark et al. 2019). Needs the texts of the tokens. */
static bool separator_row(const struct attn_metric_row *row, double *terms)
{
    return add_marks(row, terms);
}

MEAN_AND_ROWS(separator, ATTN_METRIC_SEPARATORS);

/* next: the weight on the token after the query, for queries that see it. */
static bool next_row(const struct attn_metric_row *row, double *terms)
{
    const bool has_target = !row->is_cross && attn_metric_keys_end(row) > row->query + 1;

    return attn_metric_mean_of(has_target ? attn_metric_weight(&row->cells, row->query + 1) : 0,
                               has_target, terms);
}

MEAN(next);

/* --- Along a source --------------------------------------------------------------------------- */

enum { N_LOOK, SUM_I, SUM_J, SUM_II, SUM_JJ, SUM_IJ, N_NEAR, NEARNESS, N_LOOK_TERM };

/* alignment: where rows of cross-attention look in a source of S rows. j is the key with the
 * largest weight of row i. The values are the correlation of i and j, and how near all weights are
 * to the diagonal. */
static bool alignment_row(const struct attn_metric_row *row, double *terms)
{
    const double i = (double)row->query, n_row = (double)row->settings->n_token;
    const size_t n_key = attn_metric_keys_end(row);
    struct attn_row cells = row->cells;
    double best = -1, weight = 0, distance = 0, j = 0;
    struct attn_cells run;

    while (row->is_cross && attn_row_next(&cells, &run))
        for (size_t k = 0; k < run.n; k++) {
            const double key = (double)(run.first + k), value = (double)run.values[k];

            j = value > best ? key : j;
            best = value > best ? value : best;
            weight += value;
            distance += value * fabs(i / (n_row - 1) - key / (double)(n_key - 1));
        }
    if (best < 0)
        return false;
    terms[N_LOOK] = 1, terms[SUM_I] = i, terms[SUM_J] = j;
    terms[SUM_II] = i * i, terms[SUM_JJ] = j * j, terms[SUM_IJ] = i * j;
    if (n_row > i && n_row > 1 && n_key > 1 && weight > 0)
        terms[N_NEAR] = 1, terms[NEARNESS] = 1 - distance / weight;
    return true;
}

static void alignment_values(const double *sums, double *values)
{
    const double n = sums[N_LOOK], of_i = n * sums[SUM_II] - sums[SUM_I] * sums[SUM_I];
    const double of_j = n * sums[SUM_JJ] - sums[SUM_J] * sums[SUM_J];

    /* NaN if it is 0 / 0. */
    values[0] = (n * sums[SUM_IJ] - sums[SUM_I] * sums[SUM_J]) / sqrt(of_i * of_j);
    values[1] = sums[NEARNESS] / sums[N_NEAR];
}

METRIC(alignment, 2, N_LOOK_TERM, ATTN_METRIC_NO_PLACES, alignment_values);

/* --- In a picture ----------------------------------------------------------------------------- */

enum { PATCH_MOMENT, PATCH_WEIGHT, NEAR, ON_CLS, ON_REGISTERS, N_PATCH, N_CLS, N_REGISTER, N_TERM };

/* Returns the distance between the patches A and B, numbered row by row, N_COLUMN in each. */
static double patch_distance(size_t a, size_t b, size_t n_column)
{
    const size_t row_a = a / n_column, row_b = b / n_column;
    const double down = (double)row_a - (double)row_b;
    const double across = (double)(a % n_column) - (double)(b % n_column);

    return sqrt(down * down + across * across);
}

/* patches: the distance and the locality of weights on patches, and the weights on the positions
 * before the patches. */
static bool patches_row(const struct attn_metric_row *row, double *terms)
{
    const size_t n_front = row->settings->n_front, n_column = row->settings->n_patch_column;
    /* A diagonal neighbour is 1.41 away, the nearest patch that is no neighbour 2. */
    const double nearest = 1.5;
    struct attn_row cells = row->cells;
    struct attn_cells run;

    if (n_column == 0 || row->is_cross || row->query < n_front)
        return false;
    terms[N_PATCH] = 1, terms[N_CLS] = n_front > 0, terms[N_REGISTER] = n_front > 1;
    while (attn_row_next(&cells, &run))
        for (size_t i = 0; i < run.n; i++) {
            const double weight = (double)run.values[i];
            const size_t key = run.first + i;
            double distance;

            if (key < n_front) {
                terms[key == 0 ? ON_CLS : ON_REGISTERS] += weight;
                continue;
            }
            distance = patch_distance(row->query - n_front, key - n_front, n_column);
            terms[PATCH_MOMENT] += weight * distance;
            terms[PATCH_WEIGHT] += weight;
            terms[NEAR] += distance < nearest ? weight : 0;
        }
    return true;
}

static void patches_values(const double *sums, double *values)
{
    values[0] = sums[PATCH_MOMENT] / sums[PATCH_WEIGHT]; /* NaN if there are no rows */
    values[1] = sums[NEAR] / sums[N_PATCH];
    values[2] = sums[ON_CLS] / sums[N_CLS];
    values[3] = sums[ON_REGISTERS] / sums[N_REGISTER];
}

METRIC(patches, 4, N_TERM, ATTN_METRIC_NO_PLACES, patches_values);

/* --- A picture in a prompt -------------------------------------------------------------------- */

/* No row counts: these measures are of the mean of many rows (towers/maps/picture_maps.h). */
static bool picture_row(const struct attn_metric_row *row, double *terms)
{
    (void)row, (void)terms;
    return false;
}

const struct attn_metric attn_metric_picture = {
    .name = "picture",
    .n_value = 1,
    .n_term = ATTN_METRIC_MEAN_TERMS,
    .row = picture_row,
    .finish = attn_metric_mean,
};
