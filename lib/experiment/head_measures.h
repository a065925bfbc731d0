/*
 * head_measures.h - the measures of every head of one run, also of attention on arrays: which heads
 * look where. survey.h asks the same of a model, over many texts.
 *
 *     request.selection.sites = "pattern";
 *     attn_run_prepare(host, &request, &run, &err);
 *     attn_head_measures(run, ATTN_MEASURES_ALL, &table, &err);
 *
 * Measures of how widely a head looks (entropy, entropy_norm, max) have a meaning for any keys. The
 * others need keys that are positions of the sequence of the queries; where they are not, their
 * cells are empty. In a model these are the layers that attend to a source. Of arrays the keys are
 * positions with a causal mask, where query r stands at r + S - T, and when q and k are one array.
 */
#ifndef ATTN_EXPERIMENT_HEAD_MEASURES_H
#define ATTN_EXPERIMENT_HEAD_MEASURES_H

#include "analysis/measure.h"
#include "base/table.h"
#include "run/run.h"

/*
 * Performs RUN, whose selection holds the pattern, and makes a row of each selected head: layer (of
 * batches batch; of other arrays neither), head, kv_head, then MEASURES (ATTN_MEASURE_BIT), means
 * over the selected queries. The caller owns *table. Errors: those of attn_run_perform;
 * ATTN_INVALID when no pattern is selected.
 */
ATTN_API enum attn_status attn_head_measures(struct attn_run *run, attn_measure_set measures,
                                             struct attn_table **table, struct attn_error *err);

#endif
