/* quoting.h - text and bytes as they stand in a document: a field of CSV, text of markup, base64.
 * When memory fails, the buffer keeps the failure. */
#ifndef ATTN_ENCODE_QUOTING_H
#define ATTN_ENCODE_QUOTING_H

#include "base/buffer.h"

#include <stdbool.h>

/* A field of CSV as RFC 4180 wants it: in quotes, and quotes in it doubled, when it holds a comma,
 * a quote or the end of a line. */
void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size);

/* The same for a cell that contains only text from outside, escaped by base/escape.h. A spreadsheet
 * would run what begins with = + - or @, so such a character is escaped as well: \x3d, \x2b, \x2d,
 * \x40. */
void attn_csv_text_append(struct attn_buffer *out, const char *text, size_t size);

/* UTF-8 without controls as text of XML or HTML: & < >, and where it IS_QUOTED ", are references.
 */
void attn_markup_append(struct attn_buffer *out, const char *text, size_t size, bool is_quoted);

/* BYTES [n] as base64 (RFC 4648, section 4), padded with '=' unless N is a multiple of 3. */
void attn_base64_append(struct attn_buffer *out, const void *bytes, size_t n);

#endif
