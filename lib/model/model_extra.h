/* model_extra.h - the words of a config. */
#ifndef ATTN_MODEL_MODEL_EXTRA_H
#define ATTN_MODEL_MODEL_EXTRA_H

#include "model/model.h"

/* Returns the word for FIELD of CONFIG, if that is a number of an enum: "layernorm" for "norm", as
 * `inspect` prints it. NULL for other fields. */
ATTN_API const char *attn_config_word(const struct attn_config *config, const char *field);

#endif
