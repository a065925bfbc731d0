/* quoting.h - fields of CSV, text of markup, base64. The buffer keeps a failure of memory. */
#ifndef ATTN_ENCODE_QUOTING_H
#define ATTN_ENCODE_QUOTING_H

#include "base/buffer.h"

#include <stdbool.h>

/* Appends a field of CSV, quoted by RFC 4180 if needed. */
void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size);

/* The same for escaped text from outside (base/escape.h). A first = + - or @, which a spreadsheet
 * would run, is escaped, too: \x3d, \x2b, \x2d, \x40. */
void attn_csv_text_append(struct attn_buffer *out, const char *text, size_t size);

/* Appends text of XML or HTML, with references for & < > and, if IS_QUOTED, ". */
void attn_markup_append(struct attn_buffer *out, const char *text, size_t size, bool is_quoted);

/* BYTES [n] as base64 (RFC 4648, section 4), padded with '=' unless N is a multiple of 3. */
void attn_base64_append(struct attn_buffer *out, const void *bytes, size_t n);

#endif
