/*
 * derived.h - tensors that are computed from others. rollout, weighted_pattern and value_zeroing
 * are computed at the end of a layer; contacts at the end of the last one. For the files of this
 * layer, and of those above.
 *
 *     attn_derivation_create(run, &trace, pool, &derivation, &err);
 *     options.trace = attn_derivation_trace(derivation); // create the session with it
 *     attn_session_feed(session, ids, n, &err);          // TRACE gets all that it wants
 *     attn_derivation_free(derivation);
 *
 * A derivation stands between a session and a trace. It passes on those tensors of the session that
 * the trace wants. When a layer is complete, it computes the layer again from its resid_pre, with
 * the edits of the run, and emits the derived tensors after the others of that layer. A layer that
 * is computed again has the same bits (attn_session_feed_layer).
 *
 * Each kind has a file of its own, derived_NAME.c or contacts.h, which has the definition.
 */
#ifndef ATTN_RUN_DERIVED_H
#define ATTN_RUN_DERIVED_H

#include "forward/session.h"
#include "input/sequence.h"

/* Returns the derived sites that a run of MODEL can have if its layers have the attention LAYERS
 * [n_layer]. */
struct attn_site_set attn_derived_sites(const struct attn_model *model,
                                        const struct attn_attention *layers);

/* Returns the sites that a run with the images of DIMS has besides. */
struct attn_site_set attn_derived_sites_of_images(const struct attn_dims *dims, size_t n_deep);

/* Checks that a run of MODEL with the attention LAYERS can have those of SITES that are derived.
 * MODEL NULL: the run is of arrays. ATTN_INVALID, with the reason, if not. */
enum attn_status attn_derived_check(const struct attn_model *model,
                                    const struct attn_attention *layers, struct attn_site_set sites,
                                    struct attn_error *err);

/* Whether SELECTION has a derived site of the encoder if STACK is ATTN_STACK_ENCODER, else of the
 * last stack. */
bool attn_derived_is_wanted(const struct attn_selection *selection, enum attn_model_stack stack);

/* Whether SELECTION has a site about a picture in the text. */
bool attn_derived_is_of_picture(const struct attn_selection *selection);

struct attn_derivation;

struct attn_picture_maps; /* measures/picture_maps.h */

/* The run whose tensors are used. Everything is borrowed. */
struct attn_derived_scope {
    const struct attn_model *model;
    const struct attn_sequence *text, *source;
    struct attn_session_options session; /* the options of the run's session, with its edits */
    struct attn_picture_maps *maps;      /* filled, for sites of a picture in the text; or NULL */
};

/* Creates a derivation for one feed of the whole text of the run OF. TRACE and POOL are borrowed;
 * POOL may be NULL. */
enum attn_status attn_derivation_create(const struct attn_derived_scope *of,
                                        const struct attn_trace *trace, struct attn_pool *pool,
                                        struct attn_derivation **derivation,
                                        struct attn_error *err);

/* Returns the trace to give to the session; borrowed from the derivation. */
const struct attn_trace *attn_derivation_trace(const struct attn_derivation *derivation);

void attn_derivation_free(struct attn_derivation *derivation); /* NULL is allowed */

#endif
