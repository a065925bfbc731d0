/* derived_internal.h - what the kinds of derived tensors share. For derived.c and
 * derived_NAME.c. */
#ifndef ATTN_DERIVED_DERIVED_INTERNAL_H
#define ATTN_DERIVED_DERIVED_INTERNAL_H

#include "derived/derived.h"

struct attn_derivation {
    struct attn_derived_scope of;
    const struct attn_trace *asked_by; /* borrowed */
    struct attn_pool *pool;            /* borrowed, or NULL */
    struct attn_selection *watched;    /* owns; what the session is asked for */
    struct attn_trace trace;
    float **resid_pre;              /* [n_layer], each [T, D] or NULL; owns */
    struct attn_contacts *contacts; /* owns; NULL: they are not wanted */
};

/* One kind: derived_NAME.c. */
struct attn_derived_kind {
    enum attn_site site;
    bool needs_earlier; /* resid_pre of all layers up to this one, not of this one alone */

    /* Why RUN, whose attention has patterns and no dropout, cannot have it: ATTN_INVALID. NULL: it
     * can. */
    enum attn_status (*check)(const struct attn_model *model, struct attn_error *err);

    /* Emits all that is wanted of it in LAYER, whose resid_pre is kept. NULL: contacts. */
    enum attn_status (*derive)(const struct attn_derivation *derivation, int layer,
                               struct attn_error *err);
};

extern const struct attn_derived_kind attn_derived_rollout;
extern const struct attn_derived_kind attn_derived_weighted_pattern;
extern const struct attn_derived_kind attn_derived_value_zeroing;
extern const struct attn_derived_kind attn_derived_contacts;

/* A selection of SITES of LAYER alone, of all heads and queries. The caller frees it. */
enum attn_status attn_derivation_select(const struct attn_derivation *derivation,
                                        struct attn_site_set sites, int layer,
                                        struct attn_selection **selection, struct attn_error *err);

/* A session that computes LAYER again, for TRACE, which wants nothing after it. EDITS [n_edit]
 * come after those of the run. The caller frees it. */
struct attn_again {
    const struct attn_trace *trace;
    int layer;
    const struct attn_edit *edits;
    size_t n_edit;
};
enum attn_status attn_derivation_open(const struct attn_derivation *derivation,
                                      const struct attn_again *again, struct attn_session **session,
                                      struct attn_error *err);

/* Feeds rows FIRST .. FIRST+N-1 of LAYER's resid_pre, the next ones of the session. */
enum attn_status attn_derivation_feed(const struct attn_derivation *derivation,
                                      struct attn_session *session, int layer, size_t first,
                                      size_t n, struct attn_error *err);

/* Whether LAYER may be fed piece by piece: every row depends on those before it alone. */
bool attn_derivation_has_steps(const struct attn_derivation *derivation, int layer);

/* Rows that matter to the queries that are wanted: the first *n. */
size_t attn_derivation_n_row(const struct attn_derivation *derivation, int layer);

#endif
