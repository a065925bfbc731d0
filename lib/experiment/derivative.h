/*
 * derivative.h - a metric and its gradients at given embeddings, for attributions and estimates.
 * For the files of this layer.
 *
 *     struct attn_derivative_options options = {.rule = rule, .trace = &trace};
 *     attn_derivative_create(run, &answer, &options, &derivative, &err);
 *     attn_derivative_feed(derivative, x, &value, &err);       // the metric at x
 *     attn_derivative_backward(derivative, &err);              // TRACE gets its gradients there
 *     attn_derivative_free(derivative);
 *
 * Feed and backward pass may be repeated. Memory is allocated once, except with is_for_both.
 */
#ifndef ATTN_EXPERIMENT_DERIVATIVE_H
#define ATTN_EXPERIMENT_DERIVATIVE_H

#include "gradient/backward.h"
#include "study/reply.h"

struct attn_derivative;

/* Selects SITES, gradients among them, at all layers, heads and positions of RUN. The caller owns
 * *selection. */
enum attn_status attn_derivative_select(const struct attn_run *run, attn_site_set sites,
                                        struct attn_selection **selection, struct attn_error *err);

/* Checks that the model of RUN has an embedding for each id of its text. Errors have the stage of
 * input. */
enum attn_status attn_derivative_check_ids(const struct attn_run *run, struct attn_error *err);

/* Writes the embeddings of the text of RUN to X [T, De]: before types and positions; of pictures
 * [CLS] and registers, then the patches. */
enum attn_status attn_derivative_embed(const struct attn_run *run, float *x,
                                       struct attn_error *err);

/* Borrowed but for the struct itself. */
struct attn_derivative_options {
    enum attn_backward_rule rule;
    const struct attn_trace *trace;      /* gets gradients */
    const struct attn_trace *watched;    /* gets the events of each feed; or NULL */
    const struct attn_heads_swap *swaps; /* [n_layer], or NULL */
    /* The only feed will be attn_derivative_feed_both. Its memory is freed before the backward pass
     * allocates its own. */
    bool is_for_both;
    bool has_source;   /* with a source, X and gradients have its rows after those of the text;
                          required if the model has a source. The trace wants `embed` alone */
    size_t n_run;      /* backward passes that are expected; 0: one */
    bool skips_zeros;  /* rows of the last layer that the answer does not read are not computed:
                          their gradients are 0 */
    size_t kept_bytes; /* the tensors that the backward pass reads are kept if they fit, instead of
                          being computed again; 0: never */
};

/* Creates the derivative of ANSWER, found in RUN, a prepared run of a model, with its length and
 * attention. Both are borrowed. ATTN_INVALID, at the stage of options, if the run has no
 * gradients. */
enum attn_status attn_derivative_create(const struct attn_run *run,
                                        const struct attn_answer *answer,
                                        const struct attn_derivative_options *options,
                                        struct attn_derivative **derivative,
                                        struct attn_error *err);

/* Computes the metric at the embeddings X [T, De], or [T + S, De], as attn_derivative_embed writes
 * them. */
enum attn_status attn_derivative_feed(struct attn_derivative *derivative, const float *x,
                                      double *value, struct attn_error *err);

/* The metric at the last of these feeds, once the answer has another token or a later position than
 * when the derivative was created. */
enum attn_status attn_derivative_value(struct attn_derivative *derivative, double *value,
                                       struct attn_error *err);

/* Feeds the text of OTHER, whose run has as many positions, with the embeddings X_OTHER, then X.
 * Only X gets gradients. `watched` sees both: events of OTHER have the sequence 0, events of X the
 * sequence 1. REPLIES [2] are those of OTHER and of the answer. */
enum attn_status attn_derivative_feed_both(struct attn_derivative *derivative,
                                           const struct attn_answer *other, const float *x_other,
                                           const float *x, struct attn_reply *replies,
                                           struct attn_error *err);

/* Computes the gradients at the last feed. */
enum attn_status attn_derivative_backward(struct attn_derivative *derivative,
                                          struct attn_error *err);

/* Without a feed: gradients after the last layer, whose rows FIRST .. FIRST + N-1, all that the
 * answer reads, are RESID [N, D]. The trace wants none of layers. */
enum attn_status attn_derivative_backward_of(struct attn_derivative *derivative, size_t first,
                                             size_t n, const float *resid, struct attn_error *err);

/* The reply of the last attn_derivative_feed. */
const struct attn_reply *attn_derivative_reply(const struct attn_derivative *derivative);

/* The gradients of the embeddings, shaped as X, borrowed, if the trace wants those of `embed`. */
const float *attn_derivative_embedding(const struct attn_derivative *derivative);

/* Point I of N of Gauss-Legendre quadrature on 0 .. 1, and its weight. */
double attn_derivative_point(size_t i, size_t n, double *weight);

void attn_derivative_free(struct attn_derivative *derivative); /* NULL is allowed */

#endif
