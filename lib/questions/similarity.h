/*
 * similarity.h - which heads have similar patterns: the Jensen-Shannon divergence between the
 * patterns of two heads, averaged over the rows (Clark et al. 2019, arXiv 1906.04341, section 6;
 * not smoothed).
 *
 *     attn_similarity(host, &request, 10, &table, &err);
 *
 * JS(p, q) = (sum p ln(p/m) + sum q ln(q/m)) / 2 with m = (p + q) / 2, in nats: 0 for equal rows,
 * ln 2 for rows without a common key. A small value means that heads look at the same positions of
 * this text, not that they read the same from there.
 */
#ifndef ATTN_QUESTIONS_SIMILARITY_H
#define ATTN_QUESTIONS_SIMILARITY_H

#include "run/run.h"
#include "tables/table.h"

/* Returns a table with a row for each pair of heads, the most similar first: layer, head, number
 * (layer * n_head + head), other_layer, other_head, other_number, js. It has N_MOST rows, or all
 * for 0. Layers that attend to a source are skipped. All patterns are kept in memory: ATTN_INVALID,
 * at the stage of the input, if they take more than 1 GiB. The caller owns *table. Errors have a
 * stage. */
ATTN_API enum attn_status attn_similarity(struct attn_host *host,
                                          const struct attn_request *request, size_t n_most,
                                          struct attn_table **table, struct attn_error *err);

#endif
