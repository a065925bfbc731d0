/*
 * derivative.h - a metric, and its gradients, at embeddings of one's choice: what attributions to
 * tokens repeat. For the files of this layer.
 *
 *     attn_derivative_create(&answer, rule, &trace, &derivative, &err);
 *     attn_derivative_feed(derivative, x, &value, &err);       // the metric at x
 *     attn_derivative_go_back(derivative, &err);               // TRACE gets its gradients there
 *     attn_derivative_free(derivative);
 *
 * Feed and way back may be repeated; the memory is taken once.
 */
#ifndef ATTN_EXPERIMENT_DERIVATIVE_H
#define ATTN_EXPERIMENT_DERIVATIVE_H

#include "experiment/answer_internal.h"
#include "model/backward.h"

struct attn_derivative;

/* Of ANSWER, found in a prepared run of a model, whose length and attention the passes have; both
 * and TRACE are borrowed. ATTN_INVALID, at the stage of options, where there is no way back. */
enum attn_status attn_derivative_create(const struct attn_answer *answer,
                                        enum attn_backward_rule rule,
                                        const struct attn_trace *trace,
                                        struct attn_derivative **derivative,
                                        struct attn_error *err);

/* X [T, D] are embeddings, without positions. */
enum attn_status attn_derivative_feed(struct attn_derivative *derivative, const float *x,
                                      double *value, struct attn_error *err);

/* What came of the last feed. */
const struct attn_reply *attn_derivative_reply(const struct attn_derivative *derivative);

/* After a feed. */
enum attn_status attn_derivative_go_back(struct attn_derivative *derivative,
                                         struct attn_error *err);

/* The residual stream into LAYER [T, D] of the last feed. */
const float *attn_derivative_resid(const struct attn_derivative *derivative, int layer);

void attn_derivative_free(struct attn_derivative *derivative); /* NULL is allowed */

#endif
