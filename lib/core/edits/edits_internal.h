/* edits_internal.h - how each option of a request becomes edits, and edits that write means. */
#pragma once

#include "edits/edits.h"
#include "edits/intervention_extra.h"
#include "params/param.h"
#include "trace/model_stack.h"
#include "trace/selection.h"

/* Appends EDIT to LIST, and records that it comes from part number PART. */
enum attn_status attn_edits_append(struct attn_edit_list *list, const struct attn_edit *edit,
                                   size_t part, struct attn_error *err);

/* Records that edit number EDIT of LIST also comes from part number PART. */
enum attn_status attn_edits_link(struct attn_edit_list *list, size_t edit, size_t part,
                                 struct attn_error *err);

/* Moves the edits of the model of BEFORE, which receives them, behind the others, when all edits
 * are in LIST. */
enum attn_status attn_edits_split(struct attn_before *before, struct attn_edit_list *list,
                                  struct attn_error *err);

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

/* Checks that the model has what part number PART of LIST names, a patch, a steering or a
 * projection, that its array is as wide as the tensor, and that it names one head if that is
 * required. Appends edits that stand for it. */
enum attn_status attn_edits_sketch_values(const struct attn_edit_scope *scope,
                                          struct attn_edit_list *list, size_t part,
                                          struct attn_error *err);

/* Returns the scope of edits of the stack of AT: SCOPE itself, or for the encoder a scope with its
 * model, its sizes, and the source as its text. */
struct attn_edit_scope attn_edit_scope_at(const struct attn_edit_scope *scope,
                                          const struct attn_location *at);

/* Cuts TEXT, "QUERIES>KEYS" or "QUERIES>KEYS@HEADS", into its parts, in which double quotes protect
 * both characters. HEADS may be NULL after it. Returns false for another text. */
bool attn_knockout_cut(char *text, const char **queries, const char **keys, const char **heads);

/* Whether OP is one of the ablations, which set tensors to 0, to means, or weights to equal ones.
 */
bool attn_edit_op_ablates(enum attn_edit_op op);

/* Returns true if interventions have OP; otherwise sets ERR. */
bool attn_intervention_has_op(enum attn_edit_op op, struct attn_error *err);

/* Return its name in messages, and the field that messages begin with, such as "patches". */
const char *attn_intervention_name(const struct attn_intervention *intervention);
const char *attn_intervention_field(const struct attn_intervention *intervention);

/* Whether values of OP are added, or projected out: a vector, or a row for each position. */
static inline bool attn_edit_op_has_vector(enum attn_edit_op op)
{
    return op == ATTN_EDIT_ADD || op == ATTN_EDIT_PROJECT;
}

/* A file with a vector for each of some layers, as those of llama.cpp are, or a feature of a
 * dictionary: reads PATH into the values, `vector_layers` and `made_layers` of MADE, or its values,
 * function and remark. *is_one: whether PATH is such a file; else MADE is unchanged. NULL: the
 * program reads none. */
typedef enum attn_status attn_directions_fn(const char *path, bool *is_one,
                                            struct attn_intervention *made, struct attn_error *err);
extern attn_directions_fn *const attn_directions;

/* Whether STEERING applies the same vector or factor at all its positions. */
bool attn_intervention_is_vector(const struct attn_intervention *steering);

/* Checks that MODEL has the stack STACK, or that no stack is named if it has one.
 * NAME is the text of the request that names the stack. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_stack_check(enum attn_model_stack stack, const struct attn_model *model,
                                       const char *name, struct attn_error *err);

/* Checks that MODEL has the stack, the layer and the head of PLACE, and that this stack has its
 * site. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_place_check(const struct attn_intervention *place,
                                       const struct attn_model *model, struct attn_error *err);

/* Fails if HEADS, or NULL for none, has a head of a layer of DIMS without attention, where uniform
 * weights cannot be used. */
enum attn_status attn_edit_check_attention(const struct attn_selection *heads,
                                           const struct attn_dims *dims, struct attn_error *err);

/* Selects the heads that LIST names in the stacks that go together with STACK; an encoder must be
 * named. A list that is not given names all heads. DIMS has the sizes of all stacks. *heads is NULL
 * if LIST names none; the caller frees it. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_select_heads(const struct attn_head_list *list,
                                        enum attn_model_stack stack, const struct attn_dims *dims,
                                        struct attn_selection **heads, struct attn_error *err);

/* Lets EDIT, which is of a layer of a model with CONFIG, give all visible keys equal weights: their
 * scores become 0, by products of 0, or where a bias is added to the products by scores of 0.
 * Masked keys stay masked. */
void attn_edit_make_uniform(const struct attn_config *config, struct attn_edit *edit);

/* The parameters of a struct attn_edit_texts (edit_texts.h). */
extern const struct attn_param_list attn_edit_params;
