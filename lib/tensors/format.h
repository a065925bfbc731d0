/*
 * format.h - the formats in which outputs are written.
 *
 *     for (size_t i = 0; i < attn_n_format(); i++) {
 *         const struct attn_format *format = attn_format_at(i);
 *         if (attn_format_argument(format))
 *             printf("%s %s  %s\n", attn_format_name(format), attn_format_argument(format),
 *                    attn_format_help(format));
 *     }
 */
#ifndef ATTN_TENSORS_FORMAT_H
#define ATTN_TENSORS_FORMAT_H

#include "base/api.h"

#include <stddef.h>

struct attn_format; /* constant; the library's own (format_internal.h) */

/* Return the number of formats, and format I in the order of their options; NULL if I is too
 * large. */
ATTN_API size_t attn_n_format(void);
ATTN_API const struct attn_format *attn_format_at(size_t i);

/* Returns the format NAME, "csv"; NULL if it is unknown. */
ATTN_API const struct attn_format *attn_format_find(const char *name);

/* Return the name of FORMAT, "npz"; the placeholder of the value of its option, "FILE" or "DIR",
 * NULL without an option; and a sentence about the option, NULL without it. NULL for NULL. */
ATTN_API const char *attn_format_name(const struct attn_format *format);
ATTN_API const char *attn_format_argument(const struct attn_format *format);
ATTN_API const char *attn_format_help(const struct attn_format *format);

#endif
