/*
 * gradient.h - the maker of gradients of a number that is computed from the logits of a run
 * (predict/answer.h), as further tensors of the run; and of pattern_x_grad and relevance, which are
 * computed from gradients.
 *
 * During the feed it keeps the residual stream into each layer, T D numbers each; for short texts
 * also what the backward pass reads of each layer (gradient/kept_layers.h).
 */
#pragma once

#include "run/maker.h"

extern const struct attn_maker attn_gradient_maker;

/* Checks that a run of MODEL with the attention LAYERS, which emits SITES, can have gradients.
 * ATTN_INVALID, with the reason, if not. */
enum attn_status attn_gradient_check(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     struct attn_site_set sites, struct attn_error *err);

/* --- Relevance -------------------------------------------------------------------------------- */

/*
 * The sites relevance and relevance_norm, computed from patterns and their gradients (Chefer et al.
 * 2021, arXiv 2103.15679, rules 5 and 6):
 *
 *     R_0 = I, R_l = R_l-1 + A_l R_l-1, A_l = mean over heads of max(0, pattern times gradient)
 *
 * so that after layer l it is (I + A_l) ... (I + A_0). relevance_norm divides each row of I + A_l
 * by its sum, as in an earlier paper of the authors (2012.09838). For the files of this layer.
 */

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
