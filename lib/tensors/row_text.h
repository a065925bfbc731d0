/* row_text.h - writes rows of a tensor as text. An allocation failure stays in the buffer. */
#ifndef ATTN_TENSORS_ROW_TEXT_H
#define ATTN_TENSORS_ROW_TEXT_H

#include "base/buffer.h"
#include "trace/trace_internal.h"

/* Appends `,` and a number for each of WIDTH columns; PRECISION is as in attn_number_text. NOTHING
 * is written for cells that ROW lacks, and unless it is "" also for NaN and infinity. */
void attn_row_append_text(struct attn_buffer *text, struct attn_row row, size_t width,
                          int precision, const char *nothing);

/* Appends [0.5,0.5,null]: WIDTH >= 1 columns, null for cells that ROW lacks. */
void attn_json_append_row(struct attn_buffer *out, struct attn_row row, size_t width,
                          int precision);

#endif
