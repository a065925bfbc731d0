/* analysis_internal.h - declarations of measures and differences that only the library uses. */
#pragma once

#include "measures/measure.h"
#include "measures/metric.h"

/* The pictures of a text that have a measure each, PICTURE_0 to PICTURE_7, if there are several. */
enum { ATTN_MOST_MEASURED_PICTURE = 8 };

/* Returns the measures that have one of TRAITS (enum attn_measure_trait); all that texts without a
 * picture have; those of the first N pictures of a text; the number of measures, and the one that
 * is shown in place I. */
attn_measure_set attn_measures_with(unsigned traits);
attn_measure_set attn_measures_all(void);
attn_measure_set attn_measures_of_images(size_t n);
int attn_measures_n(void);
enum attn_measure attn_measure_shown(int i);

/* The measurements that compute a set of measures; each metric is computed once. Initialize with
 * zeros. */
struct attn_measure_group {
    const struct attn_metric *metrics[ATTN_MOST_MEASURE]; /* [n] */
    struct attn_measurement *items[ATTN_MOST_MEASURE];    /* [n] own */
    size_t n;
    struct attn_pool *pool; /* or NULL: no threads */
};

/* Creates the measurements of SET in GROUP. The other arguments and the errors are those of
 * attn_measurement_create. Release GROUP also after a failure. */
enum attn_status attn_measure_group_create(attn_measure_set set,
                                           const struct attn_metric_settings *settings,
                                           const struct attn_selection *selection,
                                           struct attn_pool *pool, struct attn_measure_group *group,
                                           struct attn_error *err);

/* Adds the rows of EVENT to all measures. With a pool the measurements are done one after the
 * other, each on its threads; else all together on the calling thread. */
void attn_measure_group_add(const struct attn_measure_group *group,
                            const struct attn_trace_event *event);
void attn_measure_group_release(struct attn_measure_group *group);

/* Returns the value of MEASURE, which must be in the set, for AT as in attn_measurement_find; NaN
 * if there are no rows. */
double attn_measure_group_find(const struct attn_measure_group *group, enum attn_measure measure,
                               const struct attn_location *at);

/* Fills VALUES [ATTN_MOST_MEASURE] of AT; NaN for measures whose metric is not in the group. */
void attn_measure_group_values(const struct attn_measure_group *group,
                               const struct attn_location *at, double *values);

const char *attn_measure_help(enum attn_measure measure); /* sentences without the last full stop */
/* Whether it counts rows, so that it is a whole number. */
bool attn_measure_is_count(enum attn_measure measure);

/* Returns the metric of MEASURE; *WHICH is the index of its value. */
const struct attn_metric *attn_measure_metric(enum attn_measure measure, int *which);

int attn_measures_count(attn_measure_set set); /* the number of measures in SET */
