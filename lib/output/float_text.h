/*
 * float_text.h - float32 as decimal text, the same in every locale. The shortest form is
 * attn_format_float (output.h); this is the form with a fixed number of digits.
 */
#ifndef ATTN_OUTPUT_FLOAT_TEXT_H
#define ATTN_OUTPUT_FLOAT_TEXT_H

#include <stddef.h>

/* A sign, 39 digits of the largest float32, a point, and the digits after it. */
enum { ATTN_FIXED_PRECISION_MAX = 17, ATTN_FIXED_TEXT_SIZE = 64 };

/* What "%.*f" prints in the C locale, PRECISION 0..17 digits after the point; NaN is "nan". Returns
 * the length; not terminated. */
size_t attn_float_text_fixed(float value, int precision, char out[ATTN_FIXED_TEXT_SIZE]);

#endif
