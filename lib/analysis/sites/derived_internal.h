/* derived_internal.h - what the kinds of derived tensors share. For derived.c and derived_NAME.c.
 */
#pragma once

#include "forward/session.h"
#include "input/sequence.h"
#include "sites/derived.h"

/* The run whose tensors are used. Everything is borrowed. */
struct attn_derived_scope {
    const struct attn_model *model;
    const struct attn_sequence *text, *source;
    struct attn_session_options session; /* the options of the run's session, with its edits */
};

struct attn_derivation {
    struct attn_making making; /* the trace gets the feed */
    struct attn_derived_scope of;
    const struct attn_trace *asked_by; /* the trace that wants derived tensors; borrowed */
    struct attn_pool *pool;            /* borrowed, or NULL */
    struct attn_selection *watched;    /* owns; what the session passes to the derivation */
    struct attn_selection *of_encoder; /* owns; what is wanted of the encoder, of which OWN is */
    struct attn_trace own;
    float **resid_pre;              /* [n_layer] owns; each [T, D], or NULL if it is not kept */
    struct attn_contacts *contacts; /* owns; NULL: contacts are not wanted */
};

/* A kind of derived tensors; derived_NAME.c defines it. */
struct attn_derived_kind {
    enum attn_site site;
    bool needs_earlier; /* needs resid_pre of this layer and of all earlier ones; else only of this
                           one */

    /* Checks that a run of MODEL can have this kind. The attention has patterns and no dropout.
     * ATTN_INVALID if it cannot. NULL: each run can. */
    enum attn_status (*check)(const struct attn_model *model, struct attn_error *err);

    /* Emits the wanted tensors of this kind in the layer of AT, whose resid_pre is kept. NULL:
     * contacts, which come at the end. */
    enum attn_status (*derive)(const struct attn_derivation *derivation,
                               const struct attn_location *at, struct attn_error *err);
};

extern const struct attn_derived_kind attn_derived_rollout;
extern const struct attn_derived_kind attn_derived_weighted_pattern;
extern const struct attn_derived_kind attn_derived_value_zeroing;
extern const struct attn_derived_kind attn_derived_contacts;

/* Creates a selection of SITES in the layer of AT only, with all heads and queries. The caller
 * frees it. */
enum attn_status attn_derivation_select(const struct attn_derivation *derivation,
                                        struct attn_site_set sites, const struct attn_location *at,
                                        struct attn_selection **selection, struct attn_error *err);

/* How the layer of `at` is computed again: TRACE gets its tensors, and EDITS [n_edit] follow those
 * of the run. The session stops after the layer; the caller frees it. */
struct attn_again {
    const struct attn_trace *trace;
    const struct attn_location *at;
    const struct attn_edit *edits;
    size_t n_edit;
};
enum attn_status attn_derivation_open(const struct attn_derivation *derivation,
                                      const struct attn_again *again, struct attn_session **session,
                                      struct attn_error *err);

/* Feeds rows FIRST .. FIRST + N - 1 of the resid_pre of the layer of AT to SESSION. They must be
 * its next rows. */
enum attn_status attn_derivation_feed(const struct attn_derivation *derivation,
                                      struct attn_session *session, const struct attn_location *at,
                                      size_t first, size_t n, struct attn_error *err);

/* Whether the layer of AT may be fed some rows at a time: each row depends only on itself and on
 * earlier ones. */
bool attn_derivation_has_steps(const struct attn_derivation *derivation,
                               const struct attn_location *at);

/* Returns the number of rows, from row 0 on, that the wanted queries depend on. */
size_t attn_derivation_n_row(const struct attn_derivation *derivation,
                             const struct attn_location *at);

/* --- Contacts (contacts.c) -------------------------------------------------------------------- */

/* Creates the sums for the text of OF, whose ids must begin with <cls> and end with <eos>; else
 * ATTN_INVALID. ASKED_BY, the trace that wants the contacts, and POOL are borrowed. */
enum attn_status attn_contacts_create(const struct attn_derived_scope *of,
                                      const struct attn_trace *asked_by, struct attn_pool *pool,
                                      struct attn_contacts **contacts, struct attn_error *err);

/* Adds EVENT, some rows of a pattern. All rows of all heads must come in order. */
void attn_contacts_add(struct attn_contacts *contacts, const struct attn_trace_event *event);

/* Passes the contacts to ASKED_BY. Call it after the last pattern. */
enum attn_status attn_contacts_emit(const struct attn_contacts *contacts, struct attn_error *err);

void attn_contacts_free(struct attn_contacts *contacts); /* NULL is allowed */
