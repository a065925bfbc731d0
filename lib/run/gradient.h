/*
 * gradient.h - gradients of a number that is made of a run's logits (run/answer.h), as tensors
 * beside those of the run; and two that are made of them, pattern_x_grad and relevance. For the
 * files of this layer, and of those above.
 *
 *     attn_gradient_create(run, &trace, pool, &gradient, &err);
 *     options.trace = attn_gradient_trace(gradient);    // a session, or a derivation, has it
 *     attn_session_feed(session, ids, n, &err);         // TRACE gets the run's own tensors
 *     attn_gradient_run(gradient, &err);                // and then what it wants of gradients
 *     attn_gradient_free(gradient);
 *
 * During the feed it keeps the residual stream into every layer, T D numbers each.
 */
#ifndef ATTN_RUN_GRADIENT_H
#define ATTN_RUN_GRADIENT_H

#include "run/run_internal.h"

/* All sites that need a backward pass: gradients, pattern_x_grad, relevance. */
attn_site_set attn_gradient_sites(void);

/* Those that RUN, whose text is read and whose attention is found, can have beside SITES. */
attn_site_set attn_gradient_sites_of(const struct attn_run *run, attn_site_set sites);

/* Sets run->asked.has_goal where gradients are asked for. ATTN_INVALID, which says why the run that
 * its request describes cannot have any. */
enum attn_status attn_gradient_prepare(struct attn_run *run, struct attn_error *err);

/* Finds the number then, run->asked.goal, when RUN has a selection. */
enum attn_status attn_gradient_find_goal(struct attn_run *run, struct attn_error *err);

/* Gives the selection of RUN, which was made of its request, the gradients of its sites. */
enum attn_status attn_gradient_choose(struct attn_run *run, struct attn_error *err);

/* Whether SELECTION holds any. */
bool attn_gradient_is_wanted(const struct attn_selection *selection);

struct attn_gradient;

/* For one feed of the whole text of RUN. RUN, TRACE and POOL (or NULL) are borrowed. */
enum attn_status attn_gradient_create(const struct attn_run *run, const struct attn_trace *trace,
                                      struct attn_pool *pool, struct attn_gradient **gradient,
                                      struct attn_error *err);

/* Borrowed from the gradient. */
const struct attn_trace *attn_gradient_trace(const struct attn_gradient *gradient);

/* The backward pass, after the feed. */
enum attn_status attn_gradient_run(struct attn_gradient *gradient, struct attn_error *err);

void attn_gradient_free(struct attn_gradient *gradient); /* NULL is allowed */

#endif
