/* heads_extra.h - tables of heads that are no questions: similar heads, measures of a run. */
#ifndef ATTN_HEADS_HEADS_EXTRA_H
#define ATTN_HEADS_HEADS_EXTRA_H

#include "measures/measure.h"
#include "run/run.h"
#include "tables/table.h"

/*
 * Which heads have similar patterns: the Jensen-Shannon divergence between the
 * patterns of two heads, averaged over the rows (Clark et al. 2019, arXiv 1906.04341, section 6;
 * not smoothed).
 *
 *     attn_similarity(host, &request, 10, &table, &err);
 *
 * JS(p, q) = (sum p ln(p/m) + sum q ln(q/m)) / 2 with m = (p + q) / 2, in nats: 0 for equal rows,
 * ln 2 for rows without a common key. A small value means that heads look at the same positions of
 * this text, not that they read the same from there.
 */

/* Returns a table with a row for each pair of heads, the most similar first: layer, head, number
 * (layer * n_head + head), other_layer, other_head, other_number, js. It has N_MOST rows, or all
 * for 0. Layers that attend to a source are skipped. All patterns are kept in memory: ATTN_INVALID,
 * at the stage of the input, if they take more than 1 GiB. The caller owns *table. Errors have a
 * stage. */
ATTN_API enum attn_status attn_similarity(struct attn_host *host,
                                          const struct attn_request *request, size_t n_most,
                                          struct attn_table **table, struct attn_error *err);

/* Performs RUN, of a model or of attention on arrays, whose selection must include the pattern, and
 * returns a table with a row for each selected head: layer (for batched arrays `batch`; for other
 * arrays neither), head, kv_head, then MEASURES (a set of ATTN_MEASURE_BIT), averaged over the
 * selected queries. Measures other than entropy, entropy_norm and max need keys that are positions
 * of the queries' sequence, and have empty cells without them. The keys of arrays are positions if
 * the mask is causal, where query r is at position r + S - T, or if q and k are the same array. The
 * caller owns *table. Errors: those of attn_run_perform; ATTN_INVALID without the pattern. */
ATTN_API enum attn_status attn_head_measures(struct attn_run *run, attn_measure_set measures,
                                             struct attn_table **table, struct attn_error *err);

#endif
