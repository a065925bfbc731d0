/*
 * metric.h - measures of attention heads: numbers that are computed from the rows of a head, one
 * event of a trace after the other, in memory that does not grow with the events.
 *
 * A measure is a struct attn_metric, which a row of measure_rows.h names. Here is the entropy of
 * the pattern:
 *
 *     enum { N_ROW, ENTROPY, N_TERM };
 *     static bool row(const struct attn_metric_row *row, double *terms)
 *     {
 *         terms[N_ROW] = 1;
 *         for (size_t i = 0; i < row->cells.n; i++) {
 *             const double weight = (double)row->cells.values[i];
 *             if (weight > 0)
 *                 terms[ENTROPY] -= weight * log(weight);
 *         }
 *         return true;
 *     }
 *     static void finish(const double *sums, double *found)
 *     {
 *         found[0] = sums[ENTROPY] / sums[N_ROW]; // NaN without rows
 *     }
 *     const struct attn_metric attn_metric_entropy = {
 *         .name = "entropy", .n_value = 1, .n_term = N_TERM, .row = row, .finish = finish};
 *
 * finish turns the terms of one row into the values of that row, and sums over many rows into the
 * values of a head, a layer or a whole run. A measurement collects these sums:
 *
 *     attn_measurement_create(metric, &settings, selection, pool, &measurement, &err);
 *     attn_measurement_add(measurement, event);                    // for each event
 *     attn_measurement_find(measurement, &at, values);             // of a head
 */
#pragma once

#include "base/pool.h"
#include "trace/trace_internal.h"

/* Facts about a run that measures need, besides its rows. */
struct attn_metric_settings {
    const int32_t *ids; /* ids of all positions; NULL: unknown, so that measures that need them have
                           no rows. Borrowed */
    const char *const *tokens; /* [n_token] the text of each token; NULL: unknown, so that measures
                                  that need it have no rows. Borrowed */
    const size_t *token_sizes; /* [n_token] sizes of `tokens` in bytes */
    size_t n_token;
    /* Of a picture: number of positions before its patches, and of patches in a row; 0: no picture,
     * so that measures of patches have no rows. */
    size_t n_front, n_patch_column;
    /* positions up to the one from which a head is shown first: the mask token, or the last token
     * that the tokenizer did not add; 0: all */
    size_t n_shown;
    /* The heads have sinks; a measurement sets it from the sites of its selection. */
    bool has_sinks;
    /* [n_key] for the text and the source: 0 if a key is masked; NULL: no key is. Borrowed. */
    const int32_t *key_mask, *source_mask;
    /* [n_key] of the text: where heads park weight (measures/parks.h); NULL: on the first key.
     * Borrowed. */
    const bool *is_parked;
};

/* Which places of tokens a measure needs. */
enum attn_metric_search {
    ATTN_METRIC_NO_PLACES,
    ATTN_METRIC_REPETITIONS, /* positions with the same token; needs ids */
    ATTN_METRIC_PUNCTUATION, /* positions of punctuation; needs tokens */
    ATTN_METRIC_SEPARATORS,  /* positions of [SEP] and </s>; needs tokens */
};

/* The places that a measure needs. */
struct attn_metric_places {
    int32_t *first; /* [T] the first position of the token at this position */
    int32_t *next;  /* [T] the next position of the token at this position; T: there is none */
    int32_t *marks; /* [n_mark] positions of punctuation or of separators, in ascending order */
    size_t n_mark;
};

/* One row of one head. */
struct attn_metric_row {
    const struct attn_metric_settings *settings;
    /* NULL: the metric needs no places, or the data for them is missing. */
    const struct attn_metric_places *places;
    enum attn_site site;
    size_t query;          /* position of the query among the keys */
    bool is_cross;         /* the keys are rows of a source, not positions of the text */
    struct attn_row cells; /* the unmasked cells of a matrix; all components of a vector */
};

/* Most terms and most values of a measure, for the arrays of callers. */
enum { ATTN_METRIC_MOST = 16 };

/* A measure. It has n_term terms for each row, and sums of them with the same meaning; all are
 * doubles. */
struct attn_metric {
    const char *name;
    enum attn_metric_search search; /* which places it needs */
    size_t n_value;                 /* 1..ATTN_METRIC_MOST */
    size_t n_term;                  /* 1..ATTN_METRIC_MOST */

    /* Adds to the TERMS of a row, which are 0 before. False: the row does not count. Any thread may
     * call it. */
    bool (*row)(const struct attn_metric_row *row, double *terms);

    /* Adds TERMS, of one row or more, to SUMS, which are 0 at first. NULL: each term is added to
     * the sum with its index. */
    void (*add)(double *sums, const double *terms);

    /* Computes VALUES [n_value] from SUMS; NaN if nothing was added. */
    void (*finish)(const double *sums, double *values);
};

struct attn_measurement; /* the sums of a measure for each head of a run */

/* Creates the sums of METRIC for a run. METRIC, SELECTION and POOL are borrowed; POOL may be NULL.
 * Takes n_term doubles for each head and each position of the run. Errors: ATTN_NO_MEMORY. */
enum attn_status attn_measurement_create(const struct attn_metric *metric,
                                         const struct attn_metric_settings *settings,
                                         const struct attn_selection *selection,
                                         struct attn_pool *pool,
                                         struct attn_measurement **measurement,
                                         struct attn_error *err);
void attn_measurement_free(struct attn_measurement *measurement); /* NULL is allowed */

/* Adds the rows of EVENT in their order; the metric must read its site. */
void attn_measurement_add(struct attn_measurement *measurement,
                          const struct attn_trace_event *event);

/* Adds the rows of EVENT to each of ITEMS [n]. Does it on the
 * calling thread, faster than one by one. */
void attn_measurements_add(struct attn_measurement *const *items, size_t n,
                           const struct attn_trace_event *event);

/* Adds row R of EVENT, and sets TERMS [n_term] to its terms. Whether the row counts. */
bool attn_measurement_add_row(struct attn_measurement *measurement,
                              const struct attn_trace_event *event, size_t r, double *terms);

/* Computes VALUES [n_value] of the head AT; its site is ignored. ATTN_ALL_HEADS: of all selected
 * heads of its layer; ATTN_ALL_LAYERS: of all selected heads. */
void attn_measurement_find(const struct attn_measurement *measurement,
                           const struct attn_location *at, double *values);

/* Whether TEXT [size] has only punctuation, except for white space at its ends. */
bool attn_metric_is_punctuation(const char *text, size_t size);

/* Whether TEXT [size] is a token that ends a text of an encoder: [SEP] or </s>. */
bool attn_metric_is_separator(const char *text, size_t size);

/* --- Functions for measures ------------------------------------------------------------------- */

/* Returns the weight on KEY; 0 if it is masked. */
double attn_metric_weight(const struct attn_row *cells, size_t key);

/* Returns the largest weight on the keys FIRST .. END - 1; 0 if all are masked. */
double attn_metric_largest(const struct attn_row *cells, size_t first, size_t end);

/* Returns 1 plus the largest key that ROW sees. */
size_t attn_metric_keys_end(const struct attn_metric_row *row);

/* Returns the last key of the source that ROW sees and that is not masked: heads look at it, </s>,
 * when nothing else matches. */
size_t attn_metric_source_last(const struct attn_metric_row *row);

/* Returns the largest weight of ROW and its KEY, the first of equal ones; NaN if there is none. If
 * IS_LIMITED, leaves out the first row of a text, keys where weight is parked, and the query
 * itself; of a source its first and its last key. */
double attn_metric_find_key(const struct attn_metric_row *row, bool is_limited, size_t *key);

/* A mean over rows has two terms: the number of rows, and their sum. attn_metric_mean_of adds VALUE
 * if the row counts, and returns whether it counts. attn_metric_mean_after does so with the weight
 * on all keys that come DISTANCE after an earlier position of the query's token, if there are any.
 * The other two are `finish` functions: the mean, and the mean with the number of rows. */
enum { ATTN_METRIC_MEAN_TERMS = 2 };
bool attn_metric_mean_of(double value, bool is_counted, double *terms);
bool attn_metric_mean_after(const struct attn_metric_row *row, size_t distance, double *terms);
void attn_metric_mean(const double *sums, double *values);
void attn_metric_mean_and_rows(const double *sums, double *values);
