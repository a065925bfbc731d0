/* edits_internal.h - how each option of a request becomes edits. For the files edits_*.c. */
#ifndef ATTN_EDITS_EDITS_INTERNAL_H
#define ATTN_EDITS_EDITS_INTERNAL_H

#include "edits/edits.h"
#include "edits/intervention_internal.h"

/* Appends EDIT, produced by part number PART. */
enum attn_status attn_edits_append(struct attn_edit_list *list, const struct attn_edit *edit,
                                   size_t part, struct attn_error *err);

/* Records that part number PART also produced edit number EDIT. */
enum attn_status attn_edits_link(struct attn_edit_list *list, size_t edit, size_t part,
                                 struct attn_error *err);

/* Parts FIRST .. END-1 of the list, all of one option. */
struct attn_edit_range {
    size_t first, end;
};

/* Appends the edits of a range of parts. Errors have a stage: ATTN_STAGE_OPTIONS if the model or
 * the text lacks something. */
typedef enum attn_status attn_edit_add_fn(const struct attn_edit_scope *scope,
                                          struct attn_edit_list *list, struct attn_edit_range range,
                                          struct attn_error *err);
attn_edit_add_fn attn_edits_add_ablations, attn_edits_add_means, attn_edits_add_knockouts,
    attn_edits_add_values;

/* A place in a run. Initialize with `given`; end with attn_edit_tensor_release. */
struct attn_edit_tensor {
    struct attn_edit_place given;
    size_t n_row, n_head, width; /* sizes of the tensor; n_head is 1 for sites without heads */
    bool has_heads, is_matrix;   /* [H, T, S]; else [T, n] or [T, H, n] */
    bool goes_on;                /* positions after the text also have rows */
    unsigned char *rows;         /* [n_row] owns; the positions that are changed; NULL: all */
};

/* Finds the sizes of a place that the model has. */
void attn_edit_tensor_size(const struct attn_dims *dims, struct attn_edit_tensor *tensor);

/* Checks that the model has the place, and finds its sizes and its positions. */
enum attn_status attn_edit_tensor_find(const struct attn_edit_scope *scope,
                                       struct attn_edit_tensor *tensor, struct attn_error *err);
void attn_edit_tensor_release(struct attn_edit_tensor *tensor);

/* Checks that the arrays of PART, a patch or a steering of PLACE, have the width of the tensor, and
 * that one head is named if required. */
enum attn_status attn_edits_check_values(const struct attn_edit_scope *scope,
                                         const struct attn_edit_part *part,
                                         const struct attn_edit_place *place,
                                         struct attn_error *err);

#endif
