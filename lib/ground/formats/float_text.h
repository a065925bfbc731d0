/* float_text.h - float32 and doubles as decimal text that does not depend on the locale. */
#pragma once

#include "base/buffer.h"

#include <math.h>
#include <stddef.h>

enum { ATTN_FLOAT_TEXT_SIZE = 24 };

/* Writes the shortest decimal that reads back as the same float32, like Python's repr but without
 * ".0": "0.1", "1e-07", "-inf", "-0". Returns the length, at most 17. OUT is not terminated; its
 * other bytes are scratch. */
size_t attn_format_float(float value, char out[ATTN_FLOAT_TEXT_SIZE]);

/* The text of a number with fixed decimals: a sign, up to 39 digits, a point and the decimals. */
enum { ATTN_FIXED_PRECISION_MAX = 17, ATTN_FIXED_TEXT_SIZE = 64 };

/* Writes what printf's "%.*f" writes in the C locale; PRECISION is 0..17. Returns the length. OUT
 * is not terminated. */
size_t attn_float_text_fixed(float value, int precision, char out[ATTN_FIXED_TEXT_SIZE]);

/* The size of OUT for attn_number_text, which is also the longest text that it writes. */
enum { ATTN_NUMBER_TEXT_SIZE = ATTN_FIXED_TEXT_SIZE };

/* A buffer is grown for this many numbers of a row at a time, since a call for each number would be
 * slower. */
enum { ATTN_NUMBERS_AT_ONCE = 64 };

/* Writes VALUE with PRECISION decimals, or if PRECISION is -1, as the shortest text. Returns the
 * length. OUT is not terminated. */
static inline size_t attn_number_text(float value, int precision, char *out)
{
    return precision < 0 ? attn_format_float(value, out)
                         : attn_float_text_fixed(value, precision, out);
}

/* Appends a double with the fewest digits that read back as the same number, or nan, inf, -inf. */
void attn_double_append(struct attn_buffer *out, double value);

/* Appends a double as printf writes it with NOTATION ('f', 'e' or 'g') and DIGITS, or nan, inf,
 * -inf. */
void attn_double_append_as(struct attn_buffer *out, char notation, int digits, double value);

/* Returns VALUE for printf, which writes "-nan" or "nan" by a sign that the compiler chooses. */
static inline double attn_printed(double value)
{
    return isnan(value) ? fabs(value) : value;
}
