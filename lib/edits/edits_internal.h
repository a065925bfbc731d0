/* edits_internal.h - how each option of a request becomes edits, and edits that write means. */
#ifndef ATTN_EDITS_EDITS_INTERNAL_H
#define ATTN_EDITS_EDITS_INTERNAL_H

#include "edits/edits.h"
#include "edits/intervention_internal.h"

/* Appends EDIT to LIST, and records that it comes from part number PART. */
enum attn_status attn_edits_append(struct attn_edit_list *list, const struct attn_edit *edit,
                                   size_t part, struct attn_error *err);

/* Records that edit number EDIT of LIST also comes from part number PART. */
enum attn_status attn_edits_link(struct attn_edit_list *list, size_t edit, size_t part,
                                 struct attn_error *err);

/* Moves the edits of MODEL's encoder behind the others, when all edits are in LIST. */
enum attn_status attn_edits_split(const struct attn_model *model, struct attn_edit_list *list,
                                  struct attn_error *err);

/* The option that ITEM of `ablate` belongs to by its word: "mean:2.5" to ABLATE_MEAN, "2.5" and
 * "zero:2.5" to ABLATE. Sets *REST to the item after the word. */
enum attn_edit_option attn_edits_find_word(const char *item, const char **rest);

/* Parts FIRST .. END-1 of the list, all of one option. */
struct attn_edit_range {
    size_t first, end;
};

/* The type of a function that appends the edits of a range of parts. Errors have a stage:
 * ATTN_STAGE_OPTIONS if the model or the text lacks something that a part names. */
typedef enum attn_status attn_edit_add_fn(const struct attn_edit_scope *scope,
                                          struct attn_edit_list *list, struct attn_edit_range range,
                                          struct attn_error *err);
attn_edit_add_fn attn_edits_add_ablations, attn_edits_add_means, attn_edits_add_knockouts,
    attn_edits_add_values;

/* The tensor of a run that an edit changes. Initialize with `at`. */
struct attn_edit_tensor {
    struct attn_location at;
    size_t n_row, n_head, width; /* sizes of the tensor; n_head is 1 for sites without heads */
    /* is_matrix: its shape is [H, T, S]; else [T, n], or [T, H, n] with heads. */
    bool has_heads, is_matrix;
    unsigned char *rows; /* [n_row] owns; 1 for each position that is changed; NULL: all are */
};

/* Sets the sizes of TENSOR, whose `at` names a tensor of the model. */
void attn_edit_tensor_size(const struct attn_dims *dims, struct attn_edit_tensor *tensor);

/* Begins, adds the rows of an event (attn_trace_fn), finishes. Release after a failure, too. */
enum attn_status attn_edit_means_begin(struct attn_edit_means *means, const struct attn_dims *dims,
                                       struct attn_error *err);
enum attn_status attn_edit_means_add(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err);
void attn_edit_means_finish(const struct attn_edit_means *means);
void attn_edit_means_release(struct attn_edit_means *means);

/* Creates a selection of the tensors of EDITS [n], which the caller frees. */
enum attn_status attn_edits_select(const struct attn_edit *edits, size_t n,
                                   const struct attn_dims *dims, struct attn_selection **selection,
                                   struct attn_error *err);

/* Checks that the array of GIVEN, a patch or a steering, is as wide as the tensor, and that GIVEN
 * names one head if that is required. */
enum attn_status attn_edits_check_values(const struct attn_edit_scope *scope,
                                         const struct attn_intervention *given,
                                         struct attn_error *err);

/* Returns the scope of edits of the stack of AT: SCOPE itself, or for the encoder a scope with its
 * model, its sizes, and the source as its text. */
struct attn_edit_scope attn_edit_scope_at(const struct attn_edit_scope *scope,
                                          const struct attn_location *at);

#endif
