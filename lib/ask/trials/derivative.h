/*
 * derivative.h - a metric and its gradients at given embeddings, for attributions and estimates.
 * Private to lib/questions.
 *
 *     struct attn_derivative_options options = {.gradients = {sites, on_event, user}};
 *     attn_derivative_create(run, &answer, &options, &derivative, &err);
 *     attn_derivative_feed(derivative, x, &value, &err);       // the metric at x
 *     attn_derivative_backward(derivative, &err);              // on_event gets the gradients there
 *     attn_derivative_free(derivative);
 *
 * Feed and backward pass may be repeated. Memory is allocated once, except with is_for_both.
 */
#pragma once

#include "gradient/tape.h"
#include "trials/reply.h"

struct attn_derivative;

/* Selects SITES, gradients among them, at all layers, heads and positions of RUN. The caller owns
 * *selection. */
enum attn_status attn_derivative_select(const struct attn_run *run, struct attn_site_set sites,
                                        struct attn_selection **selection, struct attn_error *err);

/* Checks that the model of RUN has an embedding for each id of its text. Errors have the stage of
 * input. */
enum attn_status attn_derivative_check_ids(const struct attn_run *run, struct attn_error *err);

/* Writes the embeddings of the text of RUN, before types and positions are added, to X [T, De]. For
 * pictures these are [CLS] and registers, then the patches. */
enum attn_status attn_derivative_embed(const struct attn_run *run, float *x,
                                       struct attn_error *err);

/* Receives the events of SITES at all layers, heads and positions. */
struct attn_derivative_events {
    struct attn_site_set sites;
    attn_trace_fn on_event; /* NULL: none */
    void *user;
};

/* Pointers are borrowed. */
struct attn_derivative_options {
    enum attn_backward_rule rule;
    struct attn_derivative_events gradients;
    struct attn_derivative_events watched; /* tensors of each feed */
    const struct attn_heads_swap *swaps;   /* [n_layer], or NULL */
    /* Set if the only feed will be attn_derivative_feed_both. Its memory is then freed before the
     * backward pass allocates its own. */
    bool is_for_both;
    const struct attn_run *other; /* the run of OTHER then, whose edits its feed has; or NULL */
    /* X and gradients include the rows of the source after those of the text. Required if the model
     * has a source. Gradients may only be those of `embed`, unless encoder_gradients is set */
    bool has_source;
    /* The gradients of the encoder, which are among `gradients` otherwise; there are no gradients
     * of the embeddings then. */
    struct attn_derivative_events encoder_gradients;
    /* [n_deep, T, D] rows that each feed adds after the first layers (DeepStack), borrowed; NULL:
     * those of the text */
    const float *added;
    size_t n_run; /* expected number of backward passes; 0: one */
    /* does not compute rows of the last layer that the answer does not read, as their gradients are
     * 0 */
    bool skips_zeros;
    /* memory limit for keeping the tensors that the backward pass reads; if they do not fit, they
     * are recomputed; 0: always recompute */
    size_t kept_bytes;
};

/* Creates the derivative of ANSWER, which was found in RUN, a prepared run. RUN, its model and
 * ANSWER are borrowed. ATTN_INVALID, at the stage of options, if gradients of the run are not
 * supported. */
enum attn_status attn_derivative_create(const struct attn_run *run,
                                        const struct attn_answer *answer,
                                        const struct attn_derivative_options *options,
                                        struct attn_derivative **derivative,
                                        struct attn_error *err);

/* Computes the metric at the embeddings X [T, De], or [T + S, De], as attn_derivative_embed writes
 * them. */
enum attn_status attn_derivative_feed(struct attn_derivative *derivative, const float *x,
                                      double *value, struct attn_error *err);

/* Returns in *VALUE the metric at the last feed, after the answer's token was changed, or its
 * position was moved forward. */
enum attn_status attn_derivative_value(struct attn_derivative *derivative, double *value,
                                       struct attn_error *err);

/* Feeds the text of OTHER, whose run has the same number of positions, with the embeddings X_OTHER,
 * then X. Only X gets gradients. `watched` receives both: events of OTHER have sequence 0, events
 * of X sequence 1. REPLIES [2] are set to those of OTHER and of the answer. */
enum attn_status attn_derivative_feed_both(struct attn_derivative *derivative,
                                           const struct attn_answer *other, const float *x_other,
                                           const float *x, struct attn_reply *replies,
                                           struct attn_error *err);

/* Computes the gradients at the last feed. */
enum attn_status attn_derivative_backward(struct attn_derivative *derivative,
                                          struct attn_error *err);

/* Computes gradients after the last layer without a feed. RESID [N, D] are the rows FIRST .. FIRST
 * + N-1 after the last layer, all that the answer reads. Gradients must not be those of
 * layers. */
enum attn_status attn_derivative_backward_of(struct attn_derivative *derivative, size_t first,
                                             size_t n, const float *resid, struct attn_error *err);

/* Returns the reply of the last attn_derivative_feed. */
const struct attn_reply *attn_derivative_reply(const struct attn_derivative *derivative);

/* Returns the gradients of the embeddings, shaped as X; borrowed. They must be among
 * `gradients`. */
const float *attn_derivative_embedding(const struct attn_derivative *derivative);

/* Sets X [N] to FROM + AT (TO - FROM). */
void attn_derivative_mix(double at, const float *from, const float *to, size_t n, float *x);

/* Sets X [N] to point I of N_POINT of Gauss-Legendre quadrature between FROM and TO [N], and
 * returns the weight of the point. */
double attn_derivative_place(size_t i, size_t n_point, const float *from, const float *to, size_t n,
                             float *x);

void attn_derivative_free(struct attn_derivative *derivative); /* NULL is allowed */
