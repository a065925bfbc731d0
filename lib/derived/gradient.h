/*
 * gradient.h - gradients of a number that is made of a run's logits (predict/answer.h), as tensors
 * beside those of the run; and two that are made of them, pattern_x_grad and relevance. For the
 * files of this layer, and of those above.
 *
 *     attn_gradient_create(run, &trace, pool, &gradient, &err);
 *     options.trace = attn_gradient_trace(gradient);    // a session, or a derivation, has it
 *     attn_session_feed(session, ids, n, &err);         // TRACE gets the run's own tensors
 *     attn_gradient_run(gradient, &err);                // and then what it wants of gradients
 *     attn_gradient_free(gradient);
 *
 * During the feed it keeps the residual stream into every layer, T D numbers each; of short texts
 * also what the backward pass reads of each layer (gradient/kept_layers.h).
 */
#ifndef ATTN_DERIVED_GRADIENT_H
#define ATTN_DERIVED_GRADIENT_H

#include "forward/session.h"
#include "predict/answer_internal.h"

/* All sites that need a backward pass: gradients, pattern_x_grad, relevance. */
struct attn_site_set attn_gradient_sites(void);

/* Those that a run has beside SITES. */
struct attn_site_set attn_gradient_sites_of(struct attn_site_set sites);

/* Whether a run of MODEL with the attention of LAYERS, which emits SITES, can have gradients:
 * ATTN_INVALID, with the reason, if not. */
enum attn_status attn_gradient_check(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     struct attn_site_set sites, struct attn_error *err);

/* Whether SELECTION holds any. */
bool attn_gradient_is_wanted(const struct attn_selection *selection);

struct attn_gradient;

/* The run that has the gradients. Everything is borrowed. */
struct attn_gradient_scope {
    const struct attn_model *model;
    const struct attn_answer *goal;
    const struct attn_sequence *source;  /* n is 0: none */
    struct attn_session_options session; /* of the text alone */
    bool reads_once;                     /* weights are not needed again */
};

/* For one feed of the whole text of the run OF. TRACE and POOL (or NULL) are borrowed. */
enum attn_status attn_gradient_create(const struct attn_gradient_scope *of,
                                      const struct attn_trace *trace, struct attn_pool *pool,
                                      struct attn_gradient **gradient, struct attn_error *err);

/* Borrowed from the gradient. */
const struct attn_trace *attn_gradient_trace(const struct attn_gradient *gradient);

/* The backward pass, after the feed. */
enum attn_status attn_gradient_run(struct attn_gradient *gradient, struct attn_error *err);

void attn_gradient_free(struct attn_gradient *gradient); /* NULL is allowed */

#endif
