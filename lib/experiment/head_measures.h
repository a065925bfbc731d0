/*
 * head_measures.h - the measures of every head of one run, also for attention on arrays. survey.h
 * measures a model over many texts.
 *
 *     request.selection.sites = "pattern";
 *     attn_run_prepare(host, &request, &run, &err);
 *     attn_head_measures(run, ATTN_MEASURES_ALL, &table, &err);
 *
 * Measures of how widely a head looks (entropy, entropy_norm, max) have a meaning for any keys. The
 * other measures need keys that are positions of the queries' sequence, and have empty cells
 * without them, as in layers that attend to a source. The keys of arrays are positions if the mask
 * is causal, where query r is at position r + S - T, or if q and k are the same array.
 */
#ifndef ATTN_EXPERIMENT_HEAD_MEASURES_H
#define ATTN_EXPERIMENT_HEAD_MEASURES_H

#include "analysis/measure.h"
#include "base/table.h"
#include "run/run.h"

/* Performs RUN, whose selection must include the pattern, and returns a table with a row for each
 * selected head: layer (for batched arrays `batch`; for other arrays neither), head, kv_head, then
 * MEASURES (a set of ATTN_MEASURE_BIT), averaged over the selected queries. The caller owns *table.
 * Errors: those of attn_run_perform; ATTN_INVALID if the pattern is not selected. */
ATTN_API enum attn_status attn_head_measures(struct attn_run *run, attn_measure_set measures,
                                             struct attn_table **table, struct attn_error *err);

#endif
