/*
 * parts.h - the parts of a run, such as its heads, layers, neurons and positions, and how an answer
 * changes if each of them is changed. Private to lib/questions.
 *
 *     attn_parts_list(selection, ATTN_ALL_OF(ONLY, ATTN_SITE_Z), 0, &parts, &err);
 *     attn_trials_start(run, &answer, ATTN_SITE_Z, &trials, &err);
 *     attn_parts_try(&trials, parts.n, add_edits, &parts, outcomes, &err);
 *
 * A new kind of part is a site: a tensor with heads has a part for each head, and so has one whose
 * rows hold the heads of a layer without attention, such as mixer_z; mlp_post has one for each
 * neuron, any other tensor is one part. Each of these may be cut into rows.
 */
#pragma once

#include "tables/table.h"
#include "trials/trial.h"

struct attn_part {
    struct attn_location at; /* head: a key/value head for k and v */
    int neuron;              /* column of the tensor; -1: all columns */
    size_t row;              /* position or place; 0 if parts have all rows */
};

struct attn_parts {
    struct attn_part *items; /* [n] owns */
    size_t n, capacity;
};

/* SITE of all layers and heads of STACK. */
#define ATTN_ALL_OF(stack, site)                                                                   \
    (&(struct attn_location){ATTN_STACK_##stack, ATTN_ALL_LAYERS, ATTN_ALL_HEADS, (site)})

/* Appends the parts of the tensors of OF->site that SELECTION wants, in the order in which they are
 * computed. OF->stack: ATTN_STACK_ENCODER, those of an encoder; ATTN_STACK_DECODER, those of the
 * model that is fed the text; ATTN_STACK_ONLY, both. OF->layer may be ATTN_ALL_LAYERS. N_ROW: how
 * many rows each part is cut into; 0: it is not cut. SELECTION may be NULL: no parts. */
enum attn_status attn_parts_list(const struct attn_selection *selection,
                                 const struct attn_location *of, size_t n_row,
                                 struct attn_parts *parts, struct attn_error *err);

/* Sets the tensor and the columns of EDIT to those of PART. DIMS are those of its stack. */
void attn_part_place(const struct attn_part *part, const struct attn_dims *dims,
                     struct attn_edit *edit);

/* Returns the index of the part whose tensor is AT; parts->n if it is missing. */
size_t attn_parts_find(const struct attn_parts *parts, const struct attn_location *at);

/* The edits of runs, one run after the other. */
struct attn_part_edits {
    struct attn_edit *items; /* [n] */
    size_t n, capacity;
    size_t first; /* where the edits of the current run begin. 0: it also has those of all runs
                     before it */
};

enum attn_status attn_part_edits_add(struct attn_part_edits *edits, const struct attn_edit *edit,
                                     struct attn_error *err);

/* Appends the edits of run number I. */
typedef enum attn_status (*attn_part_edit_fn)(void *user, size_t i, struct attn_part_edits *edits,
                                              struct attn_error *err);

/* Performs N runs, each with the edits that ADD appends, and sets OUTCOMES [n]. */
enum attn_status attn_parts_try(struct attn_trials *trials, size_t n, attn_part_edit_fn add,
                                void *user, struct attn_trial_outcome *outcomes,
                                struct attn_error *err);

/* Fills CELLS [5], the columns ATTN_COLUMNS_REPLY of a row, with REPLY; BASE is that of the
 * unchanged run. */
void attn_reply_put(const struct attn_answer *answer, const struct attn_reply *base,
                    const struct attn_reply *reply, struct attn_cell *cells);

/* Fills CELLS [3], the columns ATTN_COLUMNS_CONTROL of a row with the effect X, from the EFFECTS
 * [n] of random choices: their mean, their standard deviation, and the rank of X. */
void attn_control_put(const double *effects, size_t n, double x, struct attn_cell *cells);
