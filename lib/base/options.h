/*
 * options.h - reads an options struct of a caller who may have been compiled with another version
 * of the library.
 *
 * Such a struct begins with `size_t size`: its size in bytes as the caller knows it, which the
 * initializer ATTN_..._DEFAULT sets. A version adds fields at the end only, behind the old size,
 * and 0 or NULL means what the versions before did. Then a caller of an older version gets defaults
 * for what it does not know, and one of a newer version is served unless it uses what this one
 * lacks.
 *
 *     struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
 *     enum attn_status status = attn_options_read(given, &options, err);
 */
#ifndef ATTN_BASE_OPTIONS_H
#define ATTN_BASE_OPTIONS_H

#include "base/status.h"

/*
 * Copies the fields of GIVEN over OPTIONS, which hold the defaults and their own size. GIVEN may be
 * NULL: the defaults stay. ATTN_INVALID for a size that no struct has, and for fields that this
 * version does not know unless they are zeros.
 */
enum attn_status attn_options_read(const void *given, void *options, struct attn_error *err);

#endif
