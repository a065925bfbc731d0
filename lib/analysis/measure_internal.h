/* measure_internal.h - what measure.h declares for the library alone. */
#ifndef ATTN_ANALYSIS_MEASURE_INTERNAL_H
#define ATTN_ANALYSIS_MEASURE_INTERNAL_H

#include "analysis/measure.h"

struct attn_metric;

/* The metric that finds MEASURE, and which of its values that is. */
const struct attn_metric *attn_measure_metric(enum attn_measure measure, int *which);

#endif
