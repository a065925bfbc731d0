/* run_extra.h - captures for observers, and the metric of a result as a table. */
#ifndef ATTN_RUN_RUN_EXTRA_H
#define ATTN_RUN_RUN_EXTRA_H

#include "run/run.h"

/* Creates a capture of the run's selection, for an observer. A reusable host reuses the memory of
 * the last capture that was freed. The capture may outlive run and host. */
ATTN_API enum attn_status attn_run_begin_capture(const struct attn_run *run,
                                                 struct attn_capture **capture,
                                                 struct attn_error *err);

/* Creates the metric of `predict.answer` as a table with the columns position (if positions were
 * selected), value and metric; NULL if it was not requested. The caller frees it. */
ATTN_API enum attn_status attn_result_metric(const struct attn_result *result,
                                             struct attn_table **metric, struct attn_error *err);

#endif
