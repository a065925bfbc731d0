/* run_measures.h - measures of a run: their settings, and its parks. */
#ifndef ATTN_MEASURES_RUN_MEASURES_H
#define ATTN_MEASURES_RUN_MEASURES_H

#include "measures/metric.h"
#include "measures/parking.h"
#include "run/run_internal.h"

/* Returns the settings of measures for the tokens of RUN. Borrows from RUN. */
struct attn_metric_settings attn_run_metric_settings(const struct attn_run *run);

/* Begins PARKING in RUN, which must be of a model (attn_parking_begin). Errors have a stage. */
enum attn_status attn_run_begin_parking(const struct attn_run *run, const struct attn_trace *to,
                                        bool is_held, struct attn_parking *parking,
                                        struct attn_error *err);

#endif
