/*
 * relevance.h - the sites relevance and relevance_norm, computed from patterns and their gradients
 * (Chefer et al. 2021, arXiv 2103.15679, rules 5 and 6):
 *
 *     R_0 = I, R_l = R_l-1 + A_l R_l-1, A_l = mean over heads of max(0, pattern times gradient)
 *
 * so that after layer l it is (I + A_l) ... (I + A_0). relevance_norm divides each row of I + A_l
 * by its sum, as in an earlier paper of the authors (2012.09838). For the files of this layer.
 */
#ifndef ATTN_GRADIENT_RELEVANCE_H
#define ATTN_GRADIENT_RELEVANCE_H

#include "base/pool.h"
#include "trace/trace.h"

struct attn_relevance;

/* Creates the sums for SITE, which is one of the two, for the layers and queries that ASKED
 * selects. ASKED is borrowed. */
enum attn_status attn_relevance_create(const struct attn_selection *asked, enum attn_site site,
                                       struct attn_pool *pool, struct attn_relevance **relevance,
                                       struct attn_error *err);

/* Adds EVENT, some rows of pattern_x_grad. Layers must come from last to first, each with all heads
 * and rows; the heads of a row in ascending order. */
void attn_relevance_add(struct attn_relevance *relevance, const struct attn_trace_event *event);

/* Passes to TRACE what it wants. Call it when all layers have come. */
enum attn_status attn_relevance_emit(struct attn_relevance *relevance,
                                     const struct attn_trace *trace, struct attn_error *err);

void attn_relevance_free(struct attn_relevance *relevance); /* NULL is allowed */

#endif
