/*
 * relevance.h - the sites relevance and relevance_norm, of patterns and their gradients (Chefer et
 * al. 2021, arXiv 2103.15679, rules 5 and 6):
 *
 *     R_0 = I,  R_l = R_l-1 + A_l R_l-1,  A_l = mean over heads of max(0, pattern times gradient)
 *
 * so that after layer l it is (I + A_l) ... (I + A_0). relevance_norm divides each row of I + A_l
 * by its sum, as their earlier paper prints it (2012.09838). For the files of this layer.
 */
#ifndef ATTN_DERIVED_RELEVANCE_H
#define ATTN_DERIVED_RELEVANCE_H

#include "base/pool.h"
#include "trace/trace.h"

struct attn_relevance;

/* SITE is one of the two. For the layers and queries that ASKED, which is borrowed, has of it. */
enum attn_status attn_relevance_create(const struct attn_selection *asked, enum attn_site site,
                                       struct attn_pool *pool, struct attn_relevance **relevance,
                                       struct attn_error *err);

/* EVENT is a part of pattern_x_grad. Layers come last to first, each with all its heads and rows;
 * the heads of a row in their order. */
void attn_relevance_add(struct attn_relevance *relevance, const struct attn_trace_event *event);

/* When all layers have come: gives TRACE what it wants. */
enum attn_status attn_relevance_emit(struct attn_relevance *relevance,
                                     const struct attn_trace *trace, struct attn_error *err);

void attn_relevance_free(struct attn_relevance *relevance); /* NULL is allowed */

#endif
