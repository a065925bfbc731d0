/*
 * csv_field.h - a field of CSV as RFC 4180 wants it: in quotes, and quotes in it doubled, when it
 * holds a comma, a quote or the end of a line.
 */
#ifndef ATTN_ENCODE_CSV_FIELD_H
#define ATTN_ENCODE_CSV_FIELD_H

#include "base/buffer.h"

void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size);

/*
 * The same for text from outside, escaped as base/escape.h has it, that stands alone in its cell. A
 * spreadsheet would run what begins with = + - or @, so such a character is escaped as well: \x3d,
 * \x2b, \x2d, \x40.
 */
void attn_csv_text_append(struct attn_buffer *out, const char *text, size_t size);

#endif
