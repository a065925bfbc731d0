/* quoting.h - CSV fields, text of markup, base64. If memory runs out, attn_buffer_check of the
 * buffer reports it. */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>

/* Appends a CSV field, with quotes if RFC 4180 needs them. */
void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size);

/* Appends a CSV field with escaped text from outside (base/text/escape.h). If it begins with =
 * + - or @, which a spreadsheet would run as a formula, that character is escaped too: \x3d, \x2b,
 * \x2d, \x40. */
void attn_csv_text_append(struct attn_buffer *out, const char *text, size_t size);

/* Appends text of XML or HTML, with entities for & < > and, if IS_QUOTED, for ". */
void attn_markup_append(struct attn_buffer *out, const char *text, size_t size, bool is_quoted);

/* Appends BYTES [n] as base64 (RFC 4648, section 4), padded with '='. */
void attn_base64_append(struct attn_buffer *out, const void *bytes, size_t n);

/* Decodes base64 TEXT [size] to OUT, which has room for SIZE bytes. False if it is malformed. */
bool attn_base64_decode(const char *text, size_t size, unsigned char *out, size_t *n);
