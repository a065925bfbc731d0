/*
 * edit.h - change tensors while the model runs. What trace.h reads, this changes.
 *
 *     struct attn_edit ablate = ATTN_EDIT_DEFAULT; // every layer, head, query and key
 *     ablate.at = (struct attn_location){.site = ATTN_SITE_Z, .layer = 0, .head = 3};
 *     ablate.op = ATTN_EDIT_ZERO;
 *
 * A session gets its edits when it is created. It applies them in the order given, before a tensor
 * is passed to the trace and before it is used.
 *
 * A function computes the new values from those of the run:
 *
 *     enum attn_status halve(void *user, const struct attn_trace_event *e, float *values,
 *                            struct attn_error *err)
 *     {
 *         for (size_t i = 0; i < e->n_row * e->n_col; i++)
 *             values[i] /= 2;
 *         return ATTN_OK;
 *     }
 *     struct attn_edit edit = ATTN_EDIT_DEFAULT;
 *     edit.at.site = ATTN_SITE_Z, edit.op = ATTN_EDIT_FUNCTION, edit.function = halve;
 */
#ifndef ATTN_TRACE_EDIT_H
#define ATTN_TRACE_EDIT_H

#include "trace/location.h"
#include "trace/site.h"

enum attn_edit_op {
    ATTN_EDIT_ZERO = 0,    /* x = 0 */
    ATTN_EDIT_SCALE = 1,   /* x = x * factor; the score of a masked key stays -inf */
    ATTN_EDIT_REPLACE = 2, /* x = data */
    ATTN_EDIT_ADD = 3,     /* x = x + data */
    /* x = -inf; only for qk and attn_scores, where it removes a key from the softmax. */
    ATTN_EDIT_MASK = 4,
    ATTN_EDIT_FUNCTION = 5, /* x = what a function makes of x */
    /* Only of interventions, which need a run before: x = its mean over the text; and of weights of
     * heads: equal for all keys that a query sees. */
    ATTN_EDIT_MEAN = 6,
    ATTN_EDIT_UNIFORM = 7,
    /* x = x - factor * v (v.x) / |v|^2 + offset * v / |v|, where v is data: with factor 1 the part
     * along v becomes offset (Arditi et al. 2406.11717). Only of vectors. */
    ATTN_EDIT_PROJECT = 8,
};

struct attn_trace_event; /* trace/trace.h */

/* Changes VALUES [n_row, n_col], the rows of EVENT, of one head where the site has heads. A matrix
 * has all its keys: masked cells are 0, or minus infinity in attn_scores. event->data is VALUES.
 * Called on the thread that feeds the session, in the order of layers, sites and heads; a second
 * feed gives the rows that it adds. The new values must be finite; in qk and attn_scores they may
 * be minus infinity. Any status but ATTN_OK stops the feed, which returns this status. */
typedef enum attn_status (*attn_edit_fn)(void *user, const struct attn_trace_event *event,
                                         float *values, struct attn_error *err);

/* Which part of a site is changed, and how. */
struct attn_edit {
    /* layer: ATTN_ALL_LAYERS means those of all stacks that the model runs; ignored for sites
     * outside the layers. head: may be ATTN_ALL_HEADS; a key/value head for k and v; ignored for
     * sites without heads. */
    struct attn_location at;
    size_t row0, row1; /* positions row0 <= p < row1; SIZE_MAX for row1: to the end */
    size_t col0, col1; /* columns col0 <= c < col1: keys of matrices, components of vectors */
    enum attn_edit_op op;
    float factor;      /* of SCALE and PROJECT */
    const float *data; /* of REPLACE, ADD and PROJECT: [row1 - row0, col1 - col0], rows ld floats
                          apart; borrowed by the session. row1 and col1 must then be given */
    size_t ld;         /* 0: data [col1 - col0] is used for every row, and row1 may be left out */
    attn_edit_fn function; /* of FUNCTION, which changes all columns; else NULL */
    void *user;            /* user data of the function */
    float offset;          /* of PROJECT */
    const void *later[4];  /* NULL: room for fields of later versions */
};

/* Sets EDIT [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_edit *attn_edit_init(struct attn_edit *edit, size_t size);
#define ATTN_EDIT_DEFAULT                                                                          \
    (*attn_edit_init(&(struct attn_edit){.row0 = 0}, sizeof(struct attn_edit)))

/* A rectangle of one tensor that the model has just computed; attn_edits_apply changes it. */
struct attn_edit_target {
    struct attn_location at;
    size_t row0, n_row, n_col, ld;
    float *data;
    size_t n_uncounted; /* the first n_uncounted edits do not count: a row that only they change is
                           not reported as changed */
    const void *later[2]; /* NULL: room for fields of later versions */
};

struct attn_intervention; /* edits/intervention.h */

/* The edits of a request. All of them apply, and none replaces another. Edits of the same numbers
 * apply in this order, those of a list in its order: interventions of the operations ZERO and
 * UNIFORM; `items`; interventions of the operations MEAN, MASK, REPLACE, and ADD, PROJECT or SCALE.
 */
struct attn_request_edits {
    const struct attn_edit *items;                 /* [n] */
    const struct attn_intervention *interventions; /* [n_intervention] */
    size_t n, n_intervention;
    const void *later[5];
};

#endif
