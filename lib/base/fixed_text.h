/*
 * fixed_text.h - text that is put together in an array of fixed size: lists of names in messages,
 * shapes.
 *
 *     char names[300] = "";
 *     size_t used = 0;
 *
 *     for (size_t i = 0; i < n; i++)
 *         attn_fixed_text_append(names, sizeof names, &used, "%s%s", i > 0 ? ", " : "", items[i]);
 */
#ifndef ATTN_BASE_FIXED_TEXT_H
#define ATTN_BASE_FIXED_TEXT_H

#include "base/api.h"

#include <stddef.h>

/*
 * Appends what FORMAT makes to the terminated TEXT [size > 0], of which *USED bytes are in use
 * without the NUL. What does not fit is left out whole, and "..." stands for it and for all that
 * would come after it; *USED is SIZE then, and later calls do nothing. TEXT is always terminated, and
 * cut only between characters.
 */
void attn_fixed_text_append(char *text, size_t size, size_t *used, const char *format, ...)
    ATTN_PRINTF(4, 5);

#endif
