/*
 * escape.h - text from outside made printable, the same way everywhere (messages, CSV, text, JSON
 * strings are built on it).
 *
 * Printable UTF-8 stays as it is; `\` is doubled; newline, tab and carriage return become \n, \t,
 * \r; every other byte that is not part of a printable character (C0, DEL, C1, bidi controls,
 * zero-width and line separators, bytes that are not UTF-8) becomes \xNN. The result is valid UTF-8
 * on one line and can be undone.
 */
#ifndef ATTN_BASE_ESCAPE_H
#define ATTN_BASE_ESCAPE_H

#include "base/buffer.h"

#include <stddef.h>

/* Appends the escaped form of TEXT [size bytes] to OUT. Fails only for lack of memory (the buffer's
 * sticky failure). */
void attn_escape_append(struct attn_buffer *out, const char *text, size_t size);

/* The escaped form of TEXT [size bytes] alone, terminated; free it with attn_free. */
enum attn_status attn_escape(const char *text, size_t size, char **escaped, struct attn_error *err);

/* Appends TEXT [size bytes], which must be UTF-8, as a JSON string: quotes, backslashes, control
 * characters and what some readers take for the end of a line (U+0085, U+2028, U+2029) escaped. */
void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size);

enum { ATTN_QUOTE_SIZE = 200 };

/* A short escaped copy for messages, cut with "..." when it does not fit: struct attn_quote q =
 * attn_quote(s, n); q.text */
struct attn_quote {
    char text[ATTN_QUOTE_SIZE];
};
struct attn_quote attn_quote(const char *text, size_t size);
struct attn_quote attn_quote_string(const char *text); /* NUL-terminated; NULL gives "(null)" */

#endif
