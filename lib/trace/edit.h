/*
 * edit.h - change intermediate tensors while the model runs: the twin of trace.
 *
 *     struct attn_edit ablate = ATTN_EDIT_DEFAULT;    // every layer, head, query and key
 *     ablate.at = (struct attn_location){.site = ATTN_SITE_Z, .layer = 0, .head = 3}, ablate.op =
 * ATTN_EDIT_ZERO;
 *
 * Edits are declared when a session is created and applied in the order given, before the tensor is
 * reported to the trace and before it is used.
 */
#ifndef ATTN_TRACE_EDIT_H
#define ATTN_TRACE_EDIT_H

#include "trace/location.h"
#include "trace/site.h"

enum attn_edit_op {
    ATTN_EDIT_ZERO = 0,    /* x = 0 */
    ATTN_EDIT_SCALE = 1,   /* x = x * factor; a key that is masked stays so */
    ATTN_EDIT_REPLACE = 2, /* x = data */
    ATTN_EDIT_ADD = 3,     /* x = x + data */
    ATTN_EDIT_MASK = 4,    /* x = -inf; only for qk and attn_scores, where it removes a key from the
                          softmax */
};

/* The part of a site to change, and the change. */
struct attn_edit {
    /* layer: or ATTN_ALL_LAYERS, of all stacks that the model itself runs; ignored for sites of the
     * model. head: or ATTN_ALL_HEADS; key/value head for k and v; ignored for sites without heads
     */
    struct attn_location at;
    size_t row0, row1; /* positions row0 <= p < row1; SIZE_MAX for row1: to the end */
    size_t col0, col1; /* columns: keys of matrices, components of vectors */
    enum attn_edit_op op;
    float factor;         /* for SCALE */
    const float *data;    /* for REPLACE and ADD: [row1-row0, col1-col0] with stride ld; borrowed by
                          the session. row1 and col1 must then be given */
    size_t ld;            /* 0: data [col1-col0] serves every row, and row1 may be left out */
    const void *later[4]; /* NULL: room for fields of later versions */
};

#define ATTN_EDIT_DEFAULT                                                                          \
    ((struct attn_edit){.at = {.layer = ATTN_ALL_LAYERS, .head = ATTN_ALL_HEADS},                  \
                        .row1 = SIZE_MAX,                                                          \
                        .col1 = SIZE_MAX})

/* A rectangle of one site on its way through the model; what attn_edits_apply changes. */
struct attn_edit_target {
    struct attn_location at;
    size_t row0, n_row, n_col, ld;
    float *data;
    size_t
        n_uncounted; /* rows that only the first edits, so many, change do not count as changed */
};

#endif
