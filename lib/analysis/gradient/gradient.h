/*
 * gradient.h - the maker of gradients of a number that is computed from the logits of a run
 * (predict/answer.h), as further tensors of the run; and of pattern_x_grad and relevance, which are
 * computed from gradients.
 *
 * During the feed it keeps the residual stream into each layer, T D numbers each; for short texts
 * also what the backward pass reads of each layer (gradient/kept_layers.h).
 */
#ifndef ATTN_GRADIENT_GRADIENT_H
#define ATTN_GRADIENT_GRADIENT_H

#include "run/maker.h"

extern const struct attn_maker attn_gradient_maker;

/* Checks that a run of MODEL with the attention LAYERS, which emits SITES, can have gradients.
 * ATTN_INVALID, with the reason, if not. */
enum attn_status attn_gradient_check(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     struct attn_site_set sites, struct attn_error *err);

#endif
