/* analysis_internal.h - declarations of measures and differences that only the library uses. */
#ifndef ATTN_ANALYSIS_ANALYSIS_INTERNAL_H
#define ATTN_ANALYSIS_ANALYSIS_INTERNAL_H

#include "analysis/difference.h"
#include "analysis/head_patterns.h"
#include "analysis/measure.h"
#include "analysis/metric.h"

/* The measures in the order of ATTN_MEASURE_MAP, in which they are shown. */
extern const enum attn_measure attn_measure_order[ATTN_N_MEASURE];

/* The measurements that find a set of measures, each metric once. Initialize with zeros. */
struct attn_measure_group {
    const struct attn_metric *metrics[ATTN_N_MEASURE]; /* [n] */
    struct attn_measurement *items[ATTN_N_MEASURE];    /* [n] own */
    size_t n;
    struct attn_pool *pool; /* or NULL */
};

/* Creates the measurements of SET, bits of measures; arguments and errors as for
 * attn_measurement_create. Release also after a failure. */
enum attn_status attn_measure_group_create(attn_measure_set set,
                                           const struct attn_metric_settings *settings,
                                           const struct attn_selection *selection,
                                           struct attn_pool *pool, struct attn_measure_group *group,
                                           struct attn_error *err);

/* Adds the rows of EVENT to all measures: one after the other on the threads of the pool, or
 * together on the thread that calls. */
void attn_measure_group_add(const struct attn_measure_group *group,
                            const struct attn_trace_event *event);
void attn_measure_group_release(struct attn_measure_group *group);

/* MEASURE, one of the set, of AT, as in attn_measurement_find; NaN if it has no rows. */
double attn_measure_group_find(const struct attn_measure_group *group, enum attn_measure measure,
                               const struct attn_location *at);

const char *attn_measure_help(enum attn_measure measure); /* sentences, no full stop */
bool attn_measure_is_count(enum attn_measure measure);    /* of rows: a whole number */

int attn_measures_count(attn_measure_set set); /* how many bits are set */

/* The columns of a table that hold a difference, and its cells there; NaN is a missing value. */
void attn_difference_columns(struct attn_column columns[ATTN_N_DIFFERENCE]);
void attn_difference_cells(const struct attn_difference *difference,
                           struct attn_cell cells[ATTN_N_DIFFERENCE]);

/* KL(p || q) in nats of the two distributions whose logits these are [n], not yet normalized. */
double attn_logits_kl(const float *exact, const float *other, size_t n);

/* --- Typical patterns (analysis/head_patterns.h) -----------------------------------------------
 */

/* Adds the rows of EVENT, of a pattern. */
void attn_head_patterns_add(struct attn_head_patterns *patterns,
                            const struct attn_trace_event *event);

/* The mean of a cell of the head AT over the texts that have this cell; NaN if all mask it. */
float attn_head_patterns_mean(const struct attn_head_patterns *patterns,
                              const struct attn_location *at, size_t query, size_t key);

#endif
