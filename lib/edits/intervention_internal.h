/* intervention_internal.h - what intervention.h declares for the library alone. */
#ifndef ATTN_EDITS_INTERVENTION_INTERNAL_H
#define ATTN_EDITS_INTERVENTION_INTERNAL_H

#include "base/param.h"
#include "edits/intervention.h"
#include "trace/model_stack.h"

/* What messages call them. */
const char *attn_knockout_name(const struct attn_knockout *knockout);
const char *attn_patch_name(const struct attn_patch *patch);
const char *attn_steering_name(const struct attn_steering *steering);

/* The tensor that a patch or a steering changes, of one head or of all. Borrows from it. */
struct attn_edit_place {
    struct attn_location at;
    const char *positions; /* or NULL */
    const char *name;      /* what messages call it */
    const char *field;     /* how they begin, "patches" */
};

struct attn_edit_place attn_patch_place(const struct attn_patch *patch);
struct attn_edit_place attn_steering_place(const struct attn_steering *steering);

/* Whether it applies the same vector or factor at all its positions. */
bool attn_steering_is_vector(const struct attn_steering *steering);

/* Parses an item of a list, SITE:LAYER[.HEAD], or SITE for a tensor of the model, into PLACE, whose
 * field is set. *is_place is false for heads. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_place_read(const char *text, struct attn_edit_place *place,
                                      bool *is_place, struct attn_error *err);

/* Checks that STACK can be edited in a model with CONFIG. NAME is the text that names it.
 * ATTN_INVALID, without a stage. */
enum attn_status attn_edit_stack_check(enum attn_model_stack stack,
                                       const struct attn_config *config, const char *name,
                                       struct attn_error *err);

/* Checks the stack and the layer of PLACE in a model with CONFIG. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_place_resolve(struct attn_edit_place *place,
                                         const struct attn_config *config, struct attn_error *err);

/* Checks that a model with CONFIG has the layer and the head. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_place_check(const struct attn_edit_place *place,
                                       const struct attn_config *config, struct attn_error *err);

/* The parameters of a struct attn_edit_texts (edit_texts.h). */
extern const struct attn_param_list attn_edit_params;

#endif
