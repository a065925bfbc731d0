/*
 * maker.h - makers of tensors that a session does not emit: gradients, and sites made of others.
 *
 *     struct attn_makings makings = {0};
 *     attn_makings_begin(&makings, run, ATTN_STACK_ONLY, &trace, pool, &err); // wraps the trace
 *     attn_session_feed(session, ids, n, &err); // the session got *trace
 *     attn_makings_finish(&makings, &err);      // the session is freed: a backward pass
 *     attn_makings_release(&makings);
 *
 * A maker stands between a session and the trace that wants its sites: it passes on what the trace
 * wants of the session, and adds its own. The core has none; lib/parts.c lists those of a program.
 */
#pragma once

#include "attention/attention.h"
#include "model/model.h"
#include "trace/edit.h"
#include "trace/selection.h"
#include "trace/trace.h"

struct attn_pool;
struct attn_run;

/* What a maker makes in one feed. A maker's own struct begins with it. */
struct attn_making {
    struct attn_trace trace; /* what the session gets */
    /* Makes the rest after the feed, without the session; NULL: there is none. */
    enum attn_status (*finish)(struct attn_making *making, struct attn_error *err);
    void (*free)(struct attn_making *making);
};

struct attn_maker {
    struct attn_site_set (*sites)(void); /* all that it makes */
    /* Returns those that a run of MODEL can have whose layers have the attention LAYERS [n_layer],
     * with the images of DIMS; NULL: attn_sites_of_metric_in decides. */
    struct attn_site_set (*sites_of)(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     const struct attn_dims *dims);
    /* Checks that a run of MODEL, NULL for arrays, can have those of SITES that it makes, beside
     * the others. ATTN_INVALID, with the reason, if not; NULL: each run can. */
    enum attn_status (*check)(const struct attn_model *model, const struct attn_attention *layers,
                              struct attn_site_set sites, struct attn_error *err);
    /* The same for EDITS [n_edit] of a pass of MODEL; NULL: they do not matter. */
    enum attn_status (*check_edits)(const struct attn_model *model, const struct attn_edit *edits,
                                    size_t n_edit, struct attn_error *err);
    /* Begins for the feed of the last stack of RUN, or of the encoder before it. Sets *making if
     * TRACE wants some of its sites, also after a failure; else leaves it. TRACE and POOL, which
     * may be NULL, are borrowed. */
    enum attn_status (*begin)(const struct attn_run *run, enum attn_model_stack stack,
                              const struct attn_trace *trace, struct attn_pool *pool,
                              struct attn_making **making, struct attn_error *err);
};

/* The makers, each of which gets the trace of the one before; then NULL. */
extern const struct attn_maker *const attn_makers[];

/* Adds the sites of the makers to those of DIMS. */
void attn_makers_extend(const struct attn_model *model, const struct attn_attention *layers,
                        struct attn_dims *dims);

/* Checks all makers whose sites meet SITES. Refuses gradients that no maker makes. */
enum attn_status attn_makers_check(const struct attn_model *model,
                                   const struct attn_attention *layers, struct attn_site_set sites,
                                   struct attn_error *err);
enum attn_status attn_makers_check_edits(const struct attn_model *model,
                                         const struct attn_edit *edits, size_t n_edit,
                                         struct attn_error *err);

/* Whether SELECTION has a site that a maker makes. */
bool attn_makers_are_wanted(const struct attn_selection *selection);

/* What all makers make in one feed. Initialize with zeros. */
enum { ATTN_MAX_MAKER = 4 };
struct attn_makings {
    struct attn_making *items[ATTN_MAX_MAKER]; /* owns */
    size_t n;
};

/* Begins each maker. *TRACE, NULL for none, becomes the trace for the session. Release MAKINGS
 * after a failure, too. */
enum attn_status attn_makings_begin(struct attn_makings *makings, const struct attn_run *run,
                                    enum attn_model_stack stack, const struct attn_trace **trace,
                                    struct attn_pool *pool, struct attn_error *err);
enum attn_status attn_makings_finish(struct attn_makings *makings, struct attn_error *err);
void attn_makings_release(struct attn_makings *makings);

/* For makers: creates the selection that the sites MADE of SELECTION need that are made of patterns
 * and of the stream: the other sites of SELECTION, and both of all heads, layers and positions. The
 * caller frees *seen. */
enum attn_status attn_making_see_patterns(const struct attn_selection *selection,
                                          struct attn_site_set made, struct attn_selection **seen,
                                          struct attn_error *err);
