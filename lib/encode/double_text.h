/*
 * double_text.h - doubles as decimal text, the same in every locale; float_text.h has float32. VALUE
 * is finite. Lack of memory stays in the buffer.
 */
#ifndef ATTN_ENCODE_DOUBLE_TEXT_H
#define ATTN_ENCODE_DOUBLE_TEXT_H

#include "base/buffer.h"

/* Appends the fewest digits that read back as the same double. */
void attn_double_append(struct attn_buffer *out, double value);

/* Appends VALUE with DIGITS after the point, with DIGITS significant ones, or with one digit before
 * and one after the point and an exponent. */
void attn_double_append_fixed(struct attn_buffer *out, double value, int digits);
void attn_double_append_figures(struct attn_buffer *out, double value, int digits);
void attn_double_append_magnitude(struct attn_buffer *out, double value);

#endif
