/*
 * builtin.h - the models that are part of the library. They are opened by name and need no files.
 *
 *     struct attn_source source = {0};
 *     if (attn_builtin_find("fable", &source))
 *         attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err);
 */
#ifndef ATTN_MODEL_BUILTIN_H
#define ATTN_MODEL_BUILTIN_H

#include "base/source.h"

#include <stdbool.h>
#include <stddef.h>

#define ATTN_BUILTIN_DEFAULT "fable" /* the model to use if none is named */

/* Sets SOURCE to the files of the built-in model NAME, which live as long as the library. The
 * other fields of SOURCE stay: initialize it with {0}. Returns false, with SOURCE unchanged, if
 * there is no such model. */
ATTN_API bool attn_builtin_find(const char *name, struct attn_source *source);

#endif
