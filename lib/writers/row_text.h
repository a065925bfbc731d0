/* row_text.h - rows of a tensor as text. Lack of memory stays in the buffer. */
#ifndef ATTN_WRITERS_ROW_TEXT_H
#define ATTN_WRITERS_ROW_TEXT_H

#include "base/buffer.h"
#include "trace/trace_internal.h"

/* Appends `,` and a number, with PRECISION as attn_number_text has it, for each of WIDTH columns.
 * NOTHING is written for cells that ROW lacks, and for NaN and infinity unless it is "". */
void attn_row_append_text(struct attn_buffer *text, struct attn_row row, size_t width,
                          int precision, const char *nothing);

/* [0.5,0.5,null]: WIDTH >= 1 columns, null where ROW has no cell. */
void attn_json_append_row(struct attn_buffer *out, struct attn_row row, size_t width,
                          int precision);

#endif
