/*
 * gradient.h - gradients of a number that is computed from the logits of a run (predict/answer.h),
 * as further tensors of the run; and pattern_x_grad and relevance, which are computed from
 * gradients. For the files of this layer, and of those above.
 *
 *     attn_gradient_create(run, &trace, pool, &gradient, &err);
 *     options.trace = attn_gradient_trace(gradient); // create the session, or derivation, with it
 *     attn_session_feed(session, ids, n, &err);      // TRACE gets the run's own tensors
 *     attn_gradient_run(gradient, &err);             // and then the gradients that it wants
 *     attn_gradient_free(gradient);
 *
 * During the feed it keeps the residual stream into each layer, T D numbers each; for short texts
 * also what the backward pass reads of each layer (gradient/kept_layers.h).
 */
#ifndef ATTN_RUN_GRADIENT_H
#define ATTN_RUN_GRADIENT_H

#include "forward/session.h"
#include "input/before.h"
#include "predict/answer_internal.h"

/* Returns all sites that need a backward pass: gradients, pattern_x_grad, relevance. */
struct attn_site_set attn_gradient_sites(void);

/* Returns the sites of this kind that a run with SITES can have. */
struct attn_site_set attn_gradient_sites_of(struct attn_site_set sites);

/* Checks that a run of MODEL with the attention LAYERS, which emits SITES, can have gradients.
 * ATTN_INVALID, with the reason, if not. */
enum attn_status attn_gradient_check(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     struct attn_site_set sites, struct attn_error *err);

/* Whether SELECTION has a site that needs a backward pass. */
bool attn_gradient_is_wanted(const struct attn_selection *selection);

struct attn_gradient;

/* The run whose gradients are computed. Everything is borrowed. */
struct attn_gradient_scope {
    const struct attn_model *model;
    const struct attn_answer *goal;
    const struct attn_sequence *source; /* its n is 0: there is no source */
    /* The options of the session of the text, not of the encoder. */
    struct attn_session_options session;
    bool reads_once; /* the weights are not needed after this run */
    /* Of what runs before the text, whose model is NULL if nothing does. The pool and the trace are
     * those of the gradients. */
    struct attn_before_pass before;
};

/* Creates the gradients for one feed of the whole text of the run OF. TRACE and POOL are borrowed;
 * POOL may be NULL. */
enum attn_status attn_gradient_create(const struct attn_gradient_scope *of,
                                      const struct attn_trace *trace, struct attn_pool *pool,
                                      struct attn_gradient **gradient, struct attn_error *err);

/* Returns the trace to give to the session; borrowed. */
const struct attn_trace *attn_gradient_trace(const struct attn_gradient *gradient);

/* Runs the backward pass. Call it after the feed. */
enum attn_status attn_gradient_run(struct attn_gradient *gradient, struct attn_error *err);

void attn_gradient_free(struct attn_gradient *gradient); /* NULL is allowed */

#endif
