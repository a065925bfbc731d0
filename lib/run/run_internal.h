/*
 * run_internal.h - what a run holds, for the experiments that do more with a request than run it,
 * and the parts of preparing one.
 */
#ifndef ATTN_RUN_RUN_INTERNAL_H
#define ATTN_RUN_RUN_INTERNAL_H

#include "analysis/metric.h"
#include "output/outputs.h"
#include "output/picture.h"
#include "run/arrays_input.h"
#include "run/host_internal.h"
#include "run/layer_attention.h"
#include "run/prediction.h"
#include "run/run.h"
#include "run/sequence.h"

/* What of a request's edits is named by itself when it changes nothing: an item of a list of heads,
 * an edit, a knockout, a patch, a steering. */
enum attn_edit_part_kind {
    ATTN_EDIT_PART_ABLATION,
    ATTN_EDIT_PART_PATTERN,
    ATTN_EDIT_PART_EDIT,
    ATTN_EDIT_PART_MEAN,
    ATTN_EDIT_PART_KNOCKOUT, /* from here on each has a line of its own */
    ATTN_EDIT_PART_PATCH,
    ATTN_EDIT_PART_STEERING,
};

struct attn_edit_part {
    enum attn_edit_part_kind kind;
    const char *text; /* [size] borrowed from the request, as it was written; NULL of an edit */
    size_t size;
    const struct attn_edit *edit; /* borrowed likewise; NULL of others */
    size_t n_idle;   /* runs, of one run 0 or 1, in which it changed nothing of what was computed */
    size_t n_hidden; /* likewise, in which a knockout has no key that its queries can look at */
};

/* Edit number EDIT of a run comes of part number PART, maybe with others. */
struct attn_edit_link {
    size_t edit, part;
};

struct attn_run {
    struct attn_host *host;              /* borrowed */
    struct attn_request request;         /* a copy; what it points to is borrowed */
    struct attn_picture_options picture; /* a copy of the request's, which points here; or unused */
    bool is_performed;                   /* or begun */
    struct attn_host *labelled;     /* owns; `host`, where it is a classifier whose labels are texts
                                       (run/zero_shot.h); or NULL */
    const struct attn_model *model; /* the host's; NULL for arrays */
    const struct attn_tokenizer *tokenizer; /* the host's; NULL where there is none */
    struct attn_sequence text, source;
    char *queries; /* owns; those of the request as numbers, or NULL */
    struct attn_continuations continuations;
    struct attn_answer answer; /* where the request has one */
    struct attn_answer goal;   /* the number whose gradients are wanted, where has_goal */
    bool has_goal;
    struct attn_spaces spaces; /* what is odd about those of the text and of what is asked */
    struct attn_layer_attention attention;
    const struct attn_selection *selection; /* the request's, or `chosen` */
    struct attn_selection *chosen;          /* owns, or NULL */
    struct attn_selection *masks;           /* owns; where an encoder predicts by itself; or NULL */
    size_t mask;                            /* position of an encoder's only mask token */
    size_t *words, *source_words; /* [n] owns both; of tokens, where words are asked for; or NULL */
    struct attn_edit *edits;      /* [n_edit] owns, or NULL */
    size_t n_edit;
    struct attn_edit_part *edit_parts; /* [n_edit_part] owns, or NULL; filled by a feed */
    size_t n_edit_part;
    struct attn_edit_link *edit_links; /* [n_edit_link] owns */
    size_t n_edit_link, link_capacity;
    float *means;                   /* owns; what edits of a mean ablation put, or NULL */
    struct attn_attend_args arrays; /* of attention on arrays; its trace and pool are not set */
    struct attn_array_axes axes;
    struct attn_backdrop backdrop; /* of the labels, where a picture was run */
    struct attn_labels labels;
};

/* What a session over RUN takes: its lengths, attention, host and files; no edits, and
 * nothing that is watched. */
struct attn_session_options attn_run_session_options(const struct attn_run *run);

/* What measures know of the tokens of RUN, which owns them. */
struct attn_metric_settings attn_run_metric_settings(const struct attn_run *run);

/* Feeds RUN, a model's, to a session of its own and answers its question. TRACE and POOL may be
 * NULL; the outputs of its request are not written. */
enum attn_status attn_run_feed(const struct attn_run *run, const struct attn_trace *trace,
                               struct attn_pool *pool, struct attn_result *result,
                               struct attn_error *err);

/* The attention of each layer [n_layer], as it will be computed; of arrays one. Borrowed
 * likewise. */
const struct attn_attention *attn_run_attention(const struct attn_run *run);

/* The arrays with their sizes and attention; NULL when a model is run. The edits, ablations first
 * [*n]. Borrowed likewise. */
const struct attn_attend_args *attn_run_arrays(const struct attn_run *run);
const struct attn_edit *attn_run_edits(const struct attn_run *run, size_t *n);

/* --- Parts of preparing a run ----------------------------------------------------------------- */

/*
 * The selection that REQUEST means for sizes DIMS, owned by the caller. N_BATCH batches have the
 * same heads: the request chooses among those of one. ATTN_INVALID when nothing is left. Stage
 * ATTN_STAGE_OPTIONS.
 */
enum attn_status attn_choose(const struct attn_request *request, const struct attn_dims *dims,
                             size_t n_batch, struct attn_selection **selection,
                             struct attn_error *err);

/* A selection of the heads that SPEC means, and of everything else. Owned by the caller. */
enum attn_status attn_select_heads(const char *spec, const struct attn_dims *dims,
                                   struct attn_selection **selection, struct attn_error *err);

/* Gives RUN, which has a selection, the edits of its request, ablations first. Stage
 * ATTN_STAGE_OPTIONS. */
enum attn_status attn_run_choose_edits(struct attn_run *run, struct attn_error *err);

/* run_effect.c: which parts of what a request edits change anything. */

/* The parts of EDITS: [*n] owned by the caller, NULL for none. Which and in which order depends on
 * the request alone. */
enum attn_status attn_edit_parts_create(const struct attn_request_edits *edits,
                                        struct attn_edit_part **parts, size_t *n,
                                        struct attn_error *err);

/* Number of the first part of RUN of that KIND. */
size_t attn_run_first_part(const struct attn_run *run, enum attn_edit_part_kind kind);

/* Says that edit number EDIT of RUN comes of part number PART. */
enum attn_status attn_run_link_edit(struct attn_run *run, size_t edit, size_t part,
                                    struct attn_error *err);

/* Says that of the edits FIRST .. END-1, a head each: they come of the items that name their head,
 * all of KIND. */
enum attn_status attn_run_link_heads(struct attn_run *run, enum attn_edit_part_kind kind,
                                     size_t first, size_t end, struct attn_error *err);

/* Finds which parts have changed nothing in sequence number SEQUENCE of SESSION, which has the
 * edits of RUN and was fed. */
void attn_run_find_effects(const struct attn_run *run, const struct attn_session *session,
                           size_t sequence);

/* Notes the knockouts among PARTS [n] that find no key; the parts that change nothing of what is
 * computed, by one line a list. N_RECORD: of so many records; 0: of the one that is run. */
void attn_edit_parts_note_hidden(const struct attn_request *request,
                                 const struct attn_edit_part *parts, size_t n, size_t n_record);
void attn_edit_parts_note_idle(const struct attn_request *request,
                               const struct attn_edit_part *parts, size_t n, size_t n_record);

/* run_mean_ablation.c: edits that put the mean over the positions of a text instead of a head's
 * context vectors. */

/* Runs the text of RUN, which is prepared but for this, without any edits, and appends the edits of
 * the heads that its request names. Errors have a stage. */
enum attn_status attn_run_add_mean_ablation(struct attn_run *run, struct attn_error *err);

/* run_knockout.c: edits that keep some queries from looking at some keys. */

/* Appends the edits of the request's knockouts to those of RUN, which is prepared but for them.
 * ATTN_INVALID at the stage of options for positions and heads that there are not, and for a row
 * that would have no key left. */
enum attn_status attn_run_add_knockouts(struct attn_run *run, struct attn_error *err);

/* run_place.c: edits of one tensor, or of one of its heads. */

/* Appends the edits of the request's patches to those of RUN, which is prepared but for them.
 * ATTN_INVALID at the stage of options for what the model or the text lacks, at that of the input
 * for arrays of another shape. */
enum attn_status attn_run_add_patches(struct attn_run *run, struct attn_error *err);

/* Likewise those of its steering. */
enum attn_status attn_run_add_steerings(struct attn_run *run, struct attn_error *err);

/* Whether steering is the same at all positions of any text. */
bool attn_steers_every_row(const struct attn_request_edits *edits);

#endif
