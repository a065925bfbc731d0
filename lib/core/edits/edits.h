/*
 * edits.h - what a request changes, as one list of edits, and which parts of the request they come
 * from. For the files of this layer and above.
 *
 *     struct attn_edit_list list = {0};
 *     attn_edits_find(&scope, &list, &err);      // in the order in which they are applied
 *     ... a session with list.items [list.n] is fed ...
 *     attn_edits_find_effects(&list, session, 0);
 *     attn_edits_note(&list, notes, n_row);   // which parts changed nothing
 *     attn_edits_release(&list);
 */
#pragma once

#include "base/status_internal.h"
#include "edits/intervention_extra.h"
#include "forward/session.h"
#include "input/before.h"

/* The field of a request (struct attn_request_edits) that produced an edit. */
enum attn_edit_option {
    ATTN_EDIT_OPTION_ABLATE, /* to zero; then to uniform weights */
    ATTN_EDIT_OPTION_ABLATE_UNIFORM,
    ATTN_EDIT_OPTION_ITEMS,
    ATTN_EDIT_OPTION_ABLATE_MEAN, /* and to a mean */
    ATTN_EDIT_OPTION_KNOCKOUT,    /* from here on, each part gets its own note */
    ATTN_EDIT_OPTION_PATCH,
    ATTN_EDIT_OPTION_STEER,
    ATTN_EDIT_OPTION_PROJECT,
    ATTN_EDIT_OPTION_RESCALE,
    ATTN_N_EDIT_OPTION
};

/* A part of a request: an ablation, an edit, a knockout, a patch or a steering. A
 * note names each part that changes nothing. */
struct attn_edit_part {
    enum attn_edit_option option;
    const char *text;  /* its name, borrowed from the request; NULL for ITEMS */
    const void *given; /* borrowed; the struct attn_edit or attn_intervention */
    size_t n_idle;     /* number of runs in which the part changed no computed value */
    size_t n_hidden;   /* number of runs in which no query of a knockout sees any of its keys */
};

/* Says that edit number EDIT of a list comes from part number PART. An edit may come from several
 * parts. */
struct attn_edit_link {
    size_t edit, part;
};

/* Edits that set tensors to their means over the rows of one text or of several: begin with `edits`
 * and `n`, add the events of each text (attn_trace_fn), and finish. Release after a failure, too.
 */
struct attn_edit_mean;
struct attn_edit_means {
    struct attn_edit *edits; /* [n] borrowed until they are finished; each of one head, or of a
                                tensor without heads */
    size_t n;
    struct attn_edit_mean *items; /* [n] owns; what the edits write */
};

/* Initialize with = {0}; end with attn_edits_release. */
struct attn_edit_list {
    /* [n] owns; of the model that is fed the text. Those of the model before it follow, which name
     * it, and which before->edits are. */
    struct attn_edit *items;
    size_t n, capacity;
    const struct attn_before *before; /* borrowed; NULL: there are no edits of one */
    struct attn_edit_part *parts;     /* [n_part] owns */
    size_t n_part;
    struct attn_edit_link *links; /* [n_link] owns */
    size_t n_link, link_capacity;
    struct attn_edit_means means; /* owns; the means that edits write */
};

/* The run whose tensors the edits change. Everything is borrowed. */
struct attn_edit_scope {
    const struct attn_request_edits *edits;
    struct attn_notes notes;
    const struct attn_model *model;
    const struct attn_dims *dims; /* with the sizes of the encoder, if the model has one */
    const struct attn_sequence *text, *source;
    struct attn_before *before; /* receives the edits of its model */
    struct attn_feed_progress progress;
    const struct attn_session_options *session; /* options for a run without edits, with the
                                                   attention of this run; its pool computes means */
};

/* Fills LIST, which is {0}, with the edits of SCOPE. If means are needed, runs the text once
 * without edits, after the rows before it are made. Errors have a stage. */
enum attn_status attn_edits_find(const struct attn_edit_scope *scope, struct attn_edit_list *list,
                                 struct attn_error *err);
void attn_edits_release(struct attn_edit_list *list);

/* Checks that the pointers of EDITS fit its counts, and checks each item of its lists. */
enum attn_status attn_edits_check_given(const struct attn_request_edits *edits,
                                        struct attn_error *err);
bool attn_edits_are_given(const struct attn_request_edits *edits);

/* Whether an ablation of EDITS needs a mean over the text. */
bool attn_edits_need_means(const struct attn_request_edits *edits);

/* Whether one of EDITS is of the tower. */
bool attn_edits_name_tower(const struct attn_request_edits *edits);

/* Refuses functions among EDITS, for WHAT, which runs the model more than once, side by side. */
enum attn_status attn_edits_refuse_functions(const struct attn_request_edits *edits,
                                             const char *what, struct attn_error *err);

/* Checks that a model can have EDITS with some text. LAYERS is the attention of each layer; NULL:
 * the model's own. Words, positions and lengths are not checked, because they depend on the text.
 * Fails at the stage ATTN_STAGE_OPTIONS, or ATTN_STAGE_INPUT for vectors of a wrong width. */
enum attn_status attn_edits_check_model(const struct attn_request_edits *edits,
                                        const struct attn_model *model,
                                        const struct attn_attention *layers,
                                        struct attn_error *err);

/* Counts in the parts of LIST those that changed nothing in sequence number SEQUENCE of SESSION.
 * The session must have the edits of LIST and have been fed. */
void attn_edits_find_effects(const struct attn_edit_list *list, const struct attn_session *session,
                             size_t sequence);

/* Notes which parts of LIST changed nothing, and that the other parts changed N_ROW rows of the
 * text. */
void attn_edits_note(const struct attn_edit_list *list, struct attn_notes notes, size_t n_row);

/* Lists the parts of EDITS in *parts [*n]; NULL without edits. The caller frees the array. The
 * parts depend on EDITS alone, not on a model or a text. */
enum attn_status attn_edit_parts_create(const struct attn_request_edits *edits,
                                        struct attn_edit_part **parts, size_t *n,
                                        struct attn_error *err);

/* The first notes the knockouts among PARTS [n] whose queries see none of their keys. The second
 * notes the parts that changed no computed value, one line for each list. N_RECORD is the number of
 * records that were run; 0: the note is of a single run. */
void attn_edit_parts_note_hidden(struct attn_notes notes, const struct attn_edit_part *parts,
                                 size_t n, size_t n_record);
void attn_edit_parts_note_idle(struct attn_notes notes, const struct attn_edit_part *parts,
                               size_t n, size_t n_record);
