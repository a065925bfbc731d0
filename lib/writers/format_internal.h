/* format_internal.h - declarations of format.h that only the library uses. */
#ifndef ATTN_WRITERS_FORMAT_INTERNAL_H
#define ATTN_WRITERS_FORMAT_INTERNAL_H

#include "writers/format.h"

/* Whether FORMAT writes a directory of many files to PATH. */
bool attn_format_is_directory(const struct attn_format *format, const char *path);

/* Writes the options of formats with IS_LISTED (NULL: all) to OUT [size] as a list, LAST before the
 * last one: "`csv`, `tidy` or `json`", terminated and perhaps cut. Returns the length of the whole
 * list. */
size_t attn_format_list(attn_format_fn is_listed, const char *last, char *out, size_t size);

#endif
