/* ablate_internal.h - shared by the files of `ablate`. Two procedures share the columns: ablate.c
 * for heads, MLPs, layers and neurons, ablate_pictures.c for pictures. ablate_parts.c lists the
 * tensors that are switched off, ablate_runs.c runs the model without them. */
#pragma once

#include "ablate/ablate.h"
#include "base/random.h"
#include "edits/edits_internal.h"
#include "frame/frame.h"
#include "frame/parts.h"
#include "frame/questions_internal.h"

extern const struct attn_question attn_question_ablate;

/* `take_item` of both procedures. */
enum attn_status attn_ablate_take_item(void *args, struct attn_request *request,
                                       const struct attn_item *item, struct attn_error *err);

extern const struct attn_procedure attn_ablate_pictures;

/* The means over all references, which the first item computes for all items. */
struct attn_ablate_found {
    struct attn_monitor *monitor; /* owns; guards the rest */
    struct attn_edit_means means; /* owns */
    struct attn_edit *edits;      /* owns; those that write them; NULL: not computed yet */
};

struct attn_ablate_plan {
    /* owns; the order in which parts are switched off one after another, the same for all items; n
     * is 0 if each item has its own order */
    struct attn_parts order;
    struct attn_ablate_found *found; /* NULL: each item computes the means */
};

struct attn_ablation {
    struct attn_frame frame;
    const struct attn_ablate_args *args;
    struct attn_head_list heads; /* the heads that are switched off */
    struct attn_answer answer;
    bool has_encoder;           /* parts of an encoder are switched off, too */
    struct attn_site_set sites; /* those of parts */
    enum attn_site first;       /* the first that is changed */
    struct attn_parts parts;    /* owns; none with sets */
    struct attn_parts tensors; /* owns; those of parts, then all heads, if only controls change them
                                */
    size_t n_own;              /* number of tensors of parts */
    struct attn_edit *edits;   /* [tensors.n] each switches off a tensor */
    struct attn_edit_means means; /* owns; what edits write, if items do not share it */
    size_t n_row;                 /* number of parts or sets */
    size_t *n_head;               /* [n_set] number of heads of each set */
    bool adds_up;                 /* a part is switched off with all parts before it */
    double *estimates;            /* [n_row] of changes */
    struct attn_trial_outcome *outcomes, *drawn; /* [n_row], [n_control] */
    size_t *order;                               /* [tensors.n] a permutation of heads */
    struct attn_random random;
};

static inline bool attn_ablate_is_of_tower(const struct attn_ablation *ablation)
{
    return ablation->args->tower == ATTN_TOWER_IMAGE;
}

static inline bool attn_ablate_has_sets(const struct attn_ablation *ablation)
{
    return ablation->args->n_set > 0;
}

/* Returns the config of the model that has STACK. */
static inline const struct attn_config *attn_ablate_config(const struct attn_ablation *ablation,
                                                           enum attn_model_stack stack)
{
    return attn_stack_is_encoder(stack)
               ? attn_model_config(attn_model_before(attn_asked_model(ablation->frame.run)))
               : ablation->frame.config;
}

/* What both procedures have, whose state is a TYPE. */
#define ATTN_ABLATE(type)                                                                          \
    .table.name = ATTN_TABLE_ABLATE, .question = &attn_question_ablate,                            \
    ATTN_PROCEDURE_TABLE(columns, views), .needs_output = true, .state_size = sizeof(type),        \
    .sum_size = sizeof(struct attn_ablate_sum),                                                    \
    .items.study = offsetof(struct attn_ablate_args, study),                                       \
    .items.take_item = attn_ablate_take_item, .choose = choose, .prepare = prepare,                \
    .shows = shows, .draw = draw, .ask = ask

#define ATTN_ABLATE_MIXING "mixing" /* the kind of rows of layers without attention */

/* --- What is switched off (ablate_parts.c) ---------------------------------------------------- */

/* Whether HEADS has one of the encoder. */
bool attn_ablate_names_encoder(const struct attn_head_list *heads);

/* Appends the parts of SITES, those of the tower alone, or of an encoder first; of HEADS, or all.
 * Layers have theirs side by side. */
enum attn_status attn_ablate_list(const struct attn_ablation *ablation, struct attn_site_set sites,
                                  const struct attn_head_list *heads, struct attn_parts *parts,
                                  struct attn_error *err);

/* Lists the tensors that parts and controls change, and an edit of each that switches it off. Parts
 * of an encoder are left out if rows of a reference replace them, because references have the same
 * source, and if parts are neurons of a layer of the decoder. */
enum attn_status attn_ablate_list_tensors(struct attn_ablation *ablation, struct attn_error *err);

/* Lets the edits write means, or the rows of a randomly drawn reference. If that reference is too
 * short, the next one is used. */
enum attn_status attn_ablate_find_values(struct attn_ablation *ablation, struct attn_error *err);

/* Lists the parts in the order of the table. */
enum attn_status attn_ablate_list_parts(struct attn_ablation *ablation, struct attn_error *err);

/* --- Runs (ablate_runs.c) --------------------------------------------------------------------- */

/* Runs without each row. */
enum attn_status attn_ablate_try(struct attn_ablation *ablation, struct attn_error *err);

/* Sorts the parts by the change that each makes alone, the smallest first. */
enum attn_status attn_ablate_sort(struct attn_ablation *ablation, struct attn_error *err);

/* Reads the order of parts BY from TABLE, which has the mean change of each part alone. */
enum attn_status attn_ablate_read_order(const struct attn_table *table, enum attn_ablate_by by,
                                        struct attn_parts *order, struct attn_error *err);

/* Runs the controls of all rows, and stores their CHANGES: n_control for each row, or n_control for
 * all if all rows share them. */
enum attn_status attn_ablate_try_controls(struct attn_ablation *ablation, bool has_own_control,
                                          double *changes, struct attn_error *err);
