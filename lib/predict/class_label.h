/* class_label.h - the labels of a classifier of pictures, by their names or numbers. For the files
 * of this layer. */
#ifndef ATTN_PREDICT_CLASS_LABEL_H
#define ATTN_PREDICT_CLASS_LABEL_H

#include "model/model.h"

#include <stdbool.h>

/* Whether MODEL's logits are one row for a whole picture. */
bool attn_model_is_classifier(const struct attn_model *model);

/* What label number ID is called, borrowed; NULL: it has no name. */
const char *attn_class_label(const struct attn_model *model, size_t id);

/* The number of the label TEXT, a name, or where no label is called so, a number. FIELD is what
 * messages call it. ATTN_INVALID when there is none, or when several are called so. */
enum attn_status attn_class_label_find(const struct attn_model *model, const char *field,
                                       const char *text, int32_t *id, struct attn_error *err);

#endif
