/* class_label.h - the labels of a classifier, by their names or numbers. For the files of this
 * layer. */
#ifndef ATTN_PREDICT_CLASS_LABEL_H
#define ATTN_PREDICT_CLASS_LABEL_H

#include "model/model.h"

#include <stdbool.h>

/* Whether MODEL's logits are one row for a whole text or picture. */
bool attn_model_is_classifier(const struct attn_model *model);

/* Whether its logits are those of labels, of a whole or of each token. */
bool attn_model_has_labels(const struct attn_model *model);

/* Whether it has one label, which a target need not name. */
bool attn_model_has_one_label(const struct attn_model *model);

/* Whether its logits are those of tokens, which the surprisal of a text needs. ATTN_INVALID, at the
 * stage of options. */
enum attn_status attn_model_check_tokens(const struct attn_model *model, struct attn_error *err);

/* What label number ID is called, borrowed; NULL: it has no name. */
const char *attn_class_label(const struct attn_model *model, size_t id);

/* Hints at labels that hold TEXT, or with "" at the first ones. */
void attn_class_label_hint(const struct attn_model *model, const char *text,
                           struct attn_error *err);

/* The number of the label TEXT, a name, or where no label is called so, a number. FIELD is what
 * messages call it. ATTN_INVALID when there is none, or when several are called so. */
enum attn_status attn_class_label_find(const struct attn_model *model, const char *field,
                                       const char *text, int32_t *id, struct attn_error *err);

#endif
