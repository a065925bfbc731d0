/* class_label.h - the labels of a classifier, by their names or numbers. For the files of this
 * layer. */
#ifndef ATTN_PREDICT_CLASS_LABEL_H
#define ATTN_PREDICT_CLASS_LABEL_H

#include "model/model.h"

#include <stdbool.h>

/* Whether MODEL has one row of logits for a whole text or picture. */
bool attn_model_is_classifier(const struct attn_model *model);

/* Whether its logits belong to labels, for a whole input or for each token. */
bool attn_model_has_labels(const struct attn_model *model);

/* Whether it has one label, so that a target is optional. */
bool attn_model_has_one_label(const struct attn_model *model);

/* Checks that its logits belong to tokens, as the surprisal of a text requires. ATTN_INVALID at
 * ATTN_STAGE_OPTIONS. */
enum attn_status attn_model_check_tokens(const struct attn_model *model, struct attn_error *err);

/* Returns the name of label number ID, borrowed; NULL if it has no name. */
const char *attn_class_label(const struct attn_model *model, size_t id);

/* Adds a hint that lists labels which contain TEXT, or with "" the first labels. */
void attn_class_label_hint(const struct attn_model *model, const char *text,
                           struct attn_error *err);

/* Finds the label TEXT by its name, or if no label has that name, by its number. FIELD is the
 * field's name in messages. ATTN_INVALID if no label, or several, match. */
enum attn_status attn_class_label_find(const struct attn_model *model, const char *field,
                                       const char *text, int32_t *id, struct attn_error *err);

#endif
