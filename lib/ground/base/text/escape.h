/*
 * escape.h - escapes untrusted text, for messages, text output and CSV alike, by the rules of
 * fixed_text.h; and writes text as a JSON string.
 *
 * The result is one line of valid UTF-8, and the escaping is reversible.
 */
#pragma once

#include "base/buffer.h"
#include "base/text/fixed_text.h"

#include <stddef.h>

/* Returns how many leading bytes of TEXT [size] surely need no escape: printable ASCII. Later bytes
 * may not need one either. */
size_t attn_escape_plain(const char *text, size_t size);

/* Appends the escaped form of TEXT [size] to OUT; check OUT for failure at the end. */
void attn_escape_append(struct attn_buffer *out, const char *text, size_t size);

/* Returns the escaped form of TEXT [size] in *ESCAPED, null-terminated; free it with attn_free. */
enum attn_status attn_escape(const char *text, size_t size, char **escaped, struct attn_error *err);

/* Appends TEXT [size] as a JSON string. Characters that are not printable become \b \f \n \r \t or
 * \uNNNN, so that terminals do not interpret them and line readers do not take them for a line end
 * (U+0085, U+2028). JSON cannot express bytes that are not UTF-8: each becomes the four characters
 * \xNN. */
void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size);
