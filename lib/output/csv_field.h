/*
 * csv_field.h - a field of CSV as RFC 4180 wants it: in quotes, and quotes in it doubled, when it
 * holds a comma, a quote or the end of a line.
 */
#ifndef ATTN_OUTPUT_CSV_FIELD_H
#define ATTN_OUTPUT_CSV_FIELD_H

#include "base/buffer.h"

void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size);

#endif
