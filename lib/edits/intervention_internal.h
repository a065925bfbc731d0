/* intervention_internal.h - what intervention.h declares for the library alone. */
#ifndef ATTN_EDITS_INTERVENTION_INTERNAL_H
#define ATTN_EDITS_INTERVENTION_INTERNAL_H

#include "edits/intervention.h"
#include "params/param.h"
#include "trace/model_stack.h"
#include "trace/selection.h"

/* Cuts TEXT, "QUERIES>KEYS" or "QUERIES>KEYS@HEADS", into its parts, in which double quotes protect
 * both characters. HEADS may be NULL after it. Returns false for another text. */
bool attn_knockout_cut(char *text, const char **queries, const char **keys, const char **heads);

/* Returns true if interventions have OP; otherwise sets ERR. */
bool attn_intervention_has_op(enum attn_edit_op op, struct attn_error *err);

/* Return its name in messages, and the field that messages begin with, such as "patches". */
const char *attn_intervention_name(const struct attn_intervention *intervention);
const char *attn_intervention_field(const struct attn_intervention *intervention);

/* Whether STEERING applies the same vector or factor at all its positions. */
bool attn_intervention_is_vector(const struct attn_intervention *steering);

/* Parses an item of a list: SITE:LAYER[.HEAD], or SITE for a tensor outside the layers. PLACE has
 * its op set already. *is_place is false if the item names heads instead. ATTN_INVALID, without a
 * stage. */
enum attn_status attn_edit_place_read(const char *text, struct attn_intervention *place,
                                      bool *is_place, struct attn_error *err);

/* Checks that a model with CONFIG has the stack STACK, or that no stack is named if it has one.
 * NAME is the text of the request that names the stack. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_stack_check(enum attn_model_stack stack,
                                       const struct attn_config *config, const char *name,
                                       struct attn_error *err);

/* Checks that MODEL has the stack, the layer and the head of PLACE, and that this stack has its
 * site. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_place_check(const struct attn_intervention *place,
                                       const struct attn_model *model, struct attn_error *err);

/* Selects the heads that the list SPEC names in the encoder (IS_OF_ENCODER), which must be named,
 * or in all other stacks. NULL: all heads. DIMS has the sizes of all stacks. *heads is NULL if SPEC
 * names none; the caller frees it. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_select_heads(const char *spec, bool is_of_encoder,
                                        const struct attn_dims *dims, struct attn_selection **heads,
                                        struct attn_error *err);

/* Lets EDIT, which is of a layer of a model with CONFIG, give all visible keys equal weights: their
 * scores become 0, by products of 0, or where a bias is added to the products by scores of 0.
 * Masked keys stay masked. */
void attn_edit_make_uniform(const struct attn_config *config, struct attn_edit *edit);

/* The parameters of a struct attn_edit_texts (edit_texts.h). */
extern const struct attn_param_list attn_edit_params;

#endif
