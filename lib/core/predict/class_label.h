/* class_label.h - the labels of a classifier, looked up by name or number. For the files of this
 * layer. */
#pragma once

#include "model/model.h"
#include "predict/answer_extra.h"

#include <stdbool.h>

/* Whether MODEL has only one label, so that a target is optional. */
bool attn_model_has_one_label(const struct attn_model *model);

/* Checks that the logits of MODEL belong to tokens, which the surprisal of a text requires. Returns
 * ATTN_INVALID with the stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_model_check_tokens(const struct attn_model *model, struct attn_error *err);

/* Returns the name of label number ID of MODEL, borrowed; NULL if it has no name. */
const char *attn_class_label(const struct attn_model *model, size_t id);

/* Adds a hint to ERR that lists the labels that contain TEXT; if TEXT is "", the first labels. */
void attn_class_label_hint(const struct attn_model *model, const char *text,
                           struct attn_error *err);

/* Finds the label whose name is TEXT, or, if no label has that name, whose number is TEXT. FIELD is
 * the field's name in messages. Returns ATTN_INVALID if no label, or several, match. */
enum attn_status attn_class_label_find(const struct attn_model *model, const char *field,
                                       const char *text, int32_t *id, struct attn_error *err);
