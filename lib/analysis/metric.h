/*
 * metric.h - measures of attention heads: numbers that are computed from the rows of a head, one
 * event of a trace after the other, in memory that does not grow with the events.
 *
 * A measure is a row of functions, and its name in ATTN_METRIC_MAP. The entropy of the pattern:
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
 *     attn_measurement_add(measurement, event, NULL);              // for each event
 *     attn_measurement_find(measurement, &at, values);             // of a head
 */
#ifndef ATTN_ANALYSIS_METRIC_H
#define ATTN_ANALYSIS_METRIC_H

#include "base/pool.h"
#include "trace/trace_internal.h"

/* Facts about a run that measures use, in addition to its rows. */
struct attn_metric_settings {
    size_t n_recalled;  /* K of `recall`, 1..ATTN_MOST_RECALLED */
    const int32_t *ids; /* of every position; NULL: unknown, and measures that need them have no
                           rows. Borrowed */
    const char *const *tokens; /* [n_token] the name of each key; NULL: unknown, and measures that
                                  need it have no rows. Borrowed */
    const size_t *token_sizes; /* in bytes */
    size_t n_token;
    size_t n_front, n_patch_column; /* of a picture: positions before its patches, patches in a row;
                                       0: it is none, and measures of patches have no rows */
    bool has_sinks; /* heads have sinks; a measurement sets it, by the sites of its selection */
    const int32_t *key_mask, *source_mask; /* [n_key] of the text and the source: 0 where a key is
                                              masked; NULL: no key is masked. Borrowed */
};

/* Facts about places that measures need. */
enum attn_metric_search {
    ATTN_METRIC_NO_PLACES,
    ATTN_METRIC_REPETITIONS, /* where tokens stand again; needs ids */
    ATTN_METRIC_PUNCTUATION, /* where punctuation stands; needs tokens */
    ATTN_METRIC_SEPARATORS,  /* where [SEP] and </s> stand; needs tokens */
};

/* The places that were looked for. */
struct attn_metric_places {
    int32_t *first; /* [T] the first place of the token that is here */
    int32_t *next;  /* [T] the next place of the same token; T at its last place */
    int32_t *marks; /* [n_mark] ascending: of punctuation, or of separators */
    size_t n_mark;
};

/* One row of one head. */
struct attn_metric_row {
    const struct attn_metric_settings *settings;
    /* NULL if the metric needs no places, or lacks the data for them. */
    const struct attn_metric_places *places;
    enum attn_site site;
    size_t query;          /* its position among the keys */
    bool is_cross;         /* the keys are rows of a source, and no positions */
    struct attn_row cells; /* unmasked cells of a matrix; all components of vectors */
    struct attn_row exact; /* in a comparison, the same row of exact attention */
};

/* Upper bounds of the terms and values of a measure, for the arrays of callers. */
enum { ATTN_METRIC_MOST = 16 };

/* A row of the registry. Terms and sums are doubles with the same meaning: n_term of them. */
struct attn_metric {
    const char *name;
    enum attn_metric_search search; /* the places that it looks at */
    size_t n_value;                 /* 1..ATTN_METRIC_MOST */
    size_t n_term;                  /* 1..ATTN_METRIC_MOST */

    /* Adds to the terms of a row, which are 0. False: the row does not count. On any thread. */
    bool (*row)(const struct attn_metric_row *row, double *terms);

    /* Adds TERMS, of one row or more, to SUMS, which begin at 0; NULL: each to its own. */
    void (*add)(double *sums, const double *terms);

    /* Makes VALUES [n_value] of sums; NaN where nothing was added. */
    void (*finish)(const double *sums, double *values);
};

/* The registry: the measure NAME is attn_metric_NAME, in head_metrics.c but for `difference`. */
#define ATTN_METRIC_MAP(X)                                                                         \
    X(difference)                                                                                  \
    X(entropy)                                                                                     \
    X(max)                                                                                         \
    X(distance)                                                                                    \
    X(self)                                                                                        \
    X(previous)                                                                                    \
    X(first)                                                                                       \
    X(duplicate)                                                                                   \
    X(induction)                                                                                   \
    X(far)                                                                                         \
    X(punctuation)                                                                                 \
    X(next)                                                                                        \
    X(separator)                                                                                   \
    X(patches)                                                                                     \
    X(alignment)                                                                                   \
    X(sink)

#define ATTN_METRIC_DECLARE(name) extern const struct attn_metric attn_metric_##name;
ATTN_METRIC_MAP(ATTN_METRIC_DECLARE)
#undef ATTN_METRIC_DECLARE

/* The measure called NAME, or NULL. */
const struct attn_metric *attn_metric_find(const char *name);

struct attn_measurement; /* the sums of every head of a run */

/* METRIC, SELECTION and POOL, which may be NULL, are borrowed. Takes n_term doubles for each head
 * and each position of the run. Errors: ATTN_NO_MEMORY. */
enum attn_status attn_measurement_create(const struct attn_metric *metric,
                                         const struct attn_metric_settings *settings,
                                         const struct attn_selection *selection,
                                         struct attn_pool *pool,
                                         struct attn_measurement **measurement,
                                         struct attn_error *err);
void attn_measurement_free(struct attn_measurement *measurement); /* NULL is allowed */

/* Adds the rows of EVENT, of a site that the metric reads, in their order. `difference` also takes
 * EXACT, an event with some of the same rows of the same head; other metrics NULL. */
void attn_measurement_add(struct attn_measurement *measurement,
                          const struct attn_trace_event *event,
                          const struct attn_trace_event *exact);

/* Adds the rows of EVENT to each of ITEMS [n], but no `difference`: on the thread that calls,
 * and faster than one after the other. */
void attn_measurements_add(struct attn_measurement *const *items, size_t n,
                           const struct attn_trace_event *event);

/* VALUES [n_value] of the head AT, whose site is ignored; of the selected heads of its layer
 * (ATTN_ALL_HEADS), or of all (ATTN_ALL_LAYERS). */
void attn_measurement_find(const struct attn_measurement *measurement,
                           const struct attn_location *at, double *values);

/* --- For the measures ------------------------------------------------------------------------- */

/* The weight on KEY; 0 where it is masked. */
double attn_metric_weight(const struct attn_row *cells, size_t key);

/* The largest weight on the keys FIRST up to END, without END; 0 when all are masked. */
double attn_metric_largest(const struct attn_row *cells, size_t first, size_t end);

/* A mean over rows has two terms: the number of rows, and their sum. The first function adds VALUE
 * if the row counts, and returns whether it does; the second does so with the weight on all keys
 * DISTANCE after an earlier place of the query's token, if there are any; the other two are
 * `finish`: the mean, and the mean with the number of rows. */
enum { ATTN_METRIC_MEAN_TERMS = 2 };
bool attn_metric_mean_of(double value, bool is_counted, double *terms);
bool attn_metric_mean_after(const struct attn_metric_row *row, size_t distance, double *terms);
void attn_metric_mean(const double *sums, double *values);
void attn_metric_mean_and_rows(const double *sums, double *values);

#endif
