/*
 * derivative.h - a metric, and its gradients, at embeddings of one's choice: what attributions to
 * tokens and estimates repeat. For the files of this layer.
 *
 *     struct attn_derivative_options options = {.rule = rule, .trace = &trace};
 *     attn_derivative_create(&answer, &options, &derivative, &err);
 *     attn_derivative_feed(derivative, x, &value, &err);       // the metric at x
 *     attn_derivative_backward(derivative, &err);              // TRACE gets its gradients there
 *     attn_derivative_free(derivative);
 *
 * Feed and backward pass may be repeated; the memory is taken once, but for one feed of two texts.
 */
#ifndef ATTN_EXPERIMENT_DERIVATIVE_H
#define ATTN_EXPERIMENT_DERIVATIVE_H

#include "experiment/reply.h"
#include "model/backward.h"

struct attn_derivative;

/* A selection of SITES, among them gradients, of all that RUN has. The caller's. */
enum attn_status attn_derivative_select(const struct attn_run *run, attn_site_set sites,
                                        struct attn_selection **selection, struct attn_error *err);

/* Whether the model of RUN has all ids of its text, and so their embeddings; at the stage of
 * input. */
enum attn_status attn_derivative_check_ids(const struct attn_run *run, struct attn_error *err);

/* The embeddings of the text of RUN into X [T, D]: where a derivative is asked for first. */
void attn_derivative_embed(const struct attn_run *run, float *x);

/* Borrowed but for the struct itself. */
struct attn_derivative_options {
    enum attn_backward_rule rule;
    const struct attn_trace *trace;      /* gets gradients */
    const struct attn_trace *watched;    /* gets what it wants of each feed; or NULL */
    const struct attn_heads_swap *swaps; /* [n_layer], or NULL */
    /* There will be one feed, attn_derivative_feed_both, whose memory is given back before the
     * backward pass takes its own. */
    bool is_for_both;
    bool skips_zeros;  /* both do without rows of the last layer before those that the answer reads:
                          their gradients are 0 */
    size_t kept_bytes; /* what the backward pass reads is kept where it fits, and nothing is
                          computed again; 0: it never is */
};

/* Of ANSWER, found in a prepared run of a model, whose length and attention the passes have. It is
 * borrowed. ATTN_INVALID, at the stage of options, where there are no gradients. */
enum attn_status attn_derivative_create(const struct attn_answer *answer,
                                        const struct attn_derivative_options *options,
                                        struct attn_derivative **derivative,
                                        struct attn_error *err);

/* X [T, D] are embeddings, without positions. */
enum attn_status attn_derivative_feed(struct attn_derivative *derivative, const float *x,
                                      double *value, struct attn_error *err);

/* The same, with the text of OTHER fed before it, whose run has as many positions and the
 * embeddings X_OTHER. Nothing of that text is kept. `watched` sees both; events of OTHER have
 * the sequence 0, those of the derivative's own text 1. REPLIES [2] are about OTHER and about
 * ANSWER. */
enum attn_status attn_derivative_feed_both(struct attn_derivative *derivative,
                                           const struct attn_answer *other, const float *x_other,
                                           const float *x, struct attn_reply *replies,
                                           struct attn_error *err);

/* After a feed. */
enum attn_status attn_derivative_backward(struct attn_derivative *derivative,
                                          struct attn_error *err);

/* What the last attn_derivative_feed replied. */
const struct attn_reply *attn_derivative_reply(const struct attn_derivative *derivative);

/* The residual stream of the last feed, [n_layer + 1, T, D]. */
const float *attn_derivative_stream(const struct attn_derivative *derivative);

/* Point I of N of Gauss and Legendre on 0 .. 1, and its weight. */
double attn_derivative_point(size_t i, size_t n, double *weight);

void attn_derivative_free(struct attn_derivative *derivative); /* NULL is allowed */

#endif
