/*
 * derived.h - tensors that are made of others when a layer of a run has been computed: rollout,
 * weighted_pattern, value_zeroing; contacts, when all have been. For the files of this layer, and
 * of those above.
 *
 *     attn_derivation_create(run, &trace, pool, &derivation, &err);
 *     options.trace = attn_derivation_trace(derivation);   // a session is watched by it
 *     attn_session_feed(session, ids, n, &err);            // TRACE gets all that it wants
 *     attn_derivation_free(derivation);
 *
 * A derivation stands between a session and a trace. It passes on what the trace wants of the
 * session's own tensors. When a layer is complete, it computes the layer again from its resid_pre,
 * with the edits of the run, and emits what is derived, after the other tensors of that layer. A
 * layer that is computed again has the same bits (attn_session_feed_layer).
 *
 * Each kind has a file of its own, derived_NAME.c or contacts.h, which gives the definition.
 */
#ifndef ATTN_DERIVED_DERIVED_H
#define ATTN_DERIVED_DERIVED_H

#include "forward/session.h"
#include "input/sequence.h"

/* The derived sites of a run of MODEL with the attention of LAYERS [n_layer], as bits. */
struct attn_site_set attn_derived_sites(const struct attn_model *model,
                                        const struct attn_attention *layers);

/* Whether such a run has the sites that LIST, or NULL, names. MODEL: NULL for arrays.
 * ATTN_INVALID, with the reason. */
enum attn_status attn_derived_check(const struct attn_model *model,
                                    const struct attn_attention *layers, const char *list,
                                    struct attn_error *err);

/* Whether SELECTION holds any. */
bool attn_derived_is_wanted(const struct attn_selection *selection);

struct attn_derivation;

/* The run whose tensors are derived. Everything is borrowed. */
struct attn_derived_scope {
    const struct attn_model *model;
    const struct attn_sequence *text, *source;
    struct attn_session_options session; /* that of the run, with its edits */
};

/* For one feed of the whole text of the run OF. TRACE and POOL (or NULL) are borrowed. */
enum attn_status attn_derivation_create(const struct attn_derived_scope *of,
                                        const struct attn_trace *trace, struct attn_pool *pool,
                                        struct attn_derivation **derivation,
                                        struct attn_error *err);

/* Borrowed from the derivation. */
const struct attn_trace *attn_derivation_trace(const struct attn_derivation *derivation);

void attn_derivation_free(struct attn_derivation *derivation); /* NULL is allowed */

#endif
