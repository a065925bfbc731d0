/*
 * builtin.h - the models that are part of the library: usable by name with no file in reach.
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

#define ATTN_BUILTIN_DEFAULT "fable" /* the one to take when no model is named */

/* Makes SOURCE name the files of the built-in model NAME, which live as long as the library; its
 * overrides stay. False, with SOURCE unchanged, if there is no such model. */
ATTN_API bool attn_builtin_find(const char *name, struct attn_source *source);

/* The name of built-in model I in alphabetical order; NULL after the last. */
ATTN_API const char *attn_builtin_name(size_t i);

#endif
