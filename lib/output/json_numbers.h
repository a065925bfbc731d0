/*
 * json_numbers.h - numbers as JSON, with PRECISION as attn_number_text has it; null for what is no
 * finite number. Lack of memory stays in the buffer.
 */
#ifndef ATTN_OUTPUT_JSON_NUMBERS_H
#define ATTN_OUTPUT_JSON_NUMBERS_H

#include "base/buffer.h"
#include "trace/trace_internal.h"

void attn_json_append_number(struct attn_buffer *out, float value, int precision);

/* [0.5,0.5,null]: WIDTH >= 1 columns, null where ROW has no cell. */
void attn_json_append_row(struct attn_buffer *out, struct attn_row row, size_t width,
                          int precision);

#endif
