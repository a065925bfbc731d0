/*
 * escape.h - text from outside made printable, the same way everywhere (messages, CSV, text, JSON
 * strings are built on it).
 *
 * The rules are those of quote.h. The result is valid UTF-8 on one line and can be undone.
 */
#ifndef ATTN_BASE_ESCAPE_H
#define ATTN_BASE_ESCAPE_H

#include "base/buffer.h"
#include "base/quote.h"

#include <stddef.h>

/* Appends the escaped form of TEXT [size bytes] to OUT. Fails only for lack of memory (the buffer's
 * sticky failure). */
void attn_escape_append(struct attn_buffer *out, const char *text, size_t size);

/* The escaped form of TEXT [size bytes] alone, terminated; free it with attn_free. */
enum attn_status attn_escape(const char *text, size_t size, char **escaped, struct attn_error *err);

/* Appends TEXT [size bytes], which must be UTF-8, as a JSON string: quotes, backslashes, control
 * characters and what some readers take for the end of a line (U+0085, U+2028, U+2029) escaped. */
void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size);

#endif
