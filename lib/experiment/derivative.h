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

/* A selection of SITES, among them gradients, of all that RUN has. The caller's. */
enum attn_status attn_derivative_select(const struct attn_run *run, attn_site_set sites,
                                        struct attn_selection **selection, struct attn_error *err);

/* The embeddings of the text of RUN into X [T, D]: where a derivative is asked for first. */
void attn_derivative_embed(const struct attn_run *run, float *x);

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

/* After a feed. */
enum attn_status attn_derivative_go_back(struct attn_derivative *derivative,
                                         struct attn_error *err);

/* The residual stream into LAYER [T, D] of the last feed. */
const float *attn_derivative_resid(const struct attn_derivative *derivative, int layer);

void attn_derivative_free(struct attn_derivative *derivative); /* NULL is allowed */

#endif
