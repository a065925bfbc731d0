/* format_internal.h - declarations of format.h for use inside the library only. */
#ifndef ATTN_WRITERS_FORMAT_INTERNAL_H
#define ATTN_WRITERS_FORMAT_INTERNAL_H

#include "writers/format.h"

/* Returns true if FORMAT writes a directory of many files to PATH. */
bool attn_format_is_directory(const struct attn_format *format, const char *path);

/* Writes the options of the formats for which IS_LISTED (NULL: all) to OUT [size] as a list:
 * "`csv`, `tidy` or `json`", with LAST before the last one. The list is null-terminated and may be
 * cut. Returns the length of the whole list. */
size_t attn_format_list(attn_format_fn is_listed, const char *last, char *out, size_t size);

#endif
