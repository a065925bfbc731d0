/* intervention_extra.h - reads an intervention, and whether those of a request name positions. */
#ifndef ATTN_EDITS_INTERVENTION_EXTRA_H
#define ATTN_EDITS_INTERVENTION_EXTRA_H

#include "edits/intervention.h"
#include "trace/edit.h"

/* Whether an edit of EDITS names positions of the text. */
ATTN_API bool attn_edits_name_positions(const struct attn_request_edits *edits);

/* Reads TEXT in the form of OP (edits/edit_texts.h); of ZERO an item of `ablate`, whose word may
 * set another ablation. MODEL may be NULL. *intervention is unchanged on failure. */
ATTN_API enum attn_status attn_intervention_read(enum attn_edit_op op, const char *text,
                                                 const struct attn_model *model,
                                                 struct attn_intervention *intervention,
                                                 struct attn_error *err);
ATTN_API void
attn_intervention_release(struct attn_intervention *intervention); /* {0} is allowed */

#endif
