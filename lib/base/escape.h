/*
 * escape.h - text from outside, made printable in the same way everywhere (messages, text, CSV) by
 * the rules of fixed_text.h; and text as a JSON string.
 *
 * The result is valid UTF-8 on one line and can be undone.
 */
#ifndef ATTN_BASE_ESCAPE_H
#define ATTN_BASE_ESCAPE_H

#include "base/buffer.h"
#include "base/fixed_text.h"

#include <stddef.h>

/* Bytes at the beginning of TEXT [size bytes] that are their own escaped form: printable ASCII. The
 * first after them may be, too. */
size_t attn_escape_plain(const char *text, size_t size);

/* Appends the escaped form of TEXT [size bytes] to OUT, whose failure sticks. */
void attn_escape_append(struct attn_buffer *out, const char *text, size_t size);

/* The escaped form of TEXT [size bytes] alone, terminated; free it with attn_free. */
enum attn_status attn_escape(const char *text, size_t size, char **escaped, struct attn_error *err);

/* Appends TEXT [size bytes] as a JSON string. Characters that are not printable are \b \f \n \r \t
 * or \uNNNN, so that no terminal obeys them and no reader of lines takes them for an end (U+0085,
 * U+2028). JSON cannot express bytes that are not UTF-8: each becomes the four characters \xNN. */
void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size);

#endif
