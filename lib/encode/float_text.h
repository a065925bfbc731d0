/* float_text.h - float32 and doubles as decimal text, the same in every locale: in the shortest
 * form, or with a number of digits. */
#ifndef ATTN_ENCODE_FLOAT_TEXT_H
#define ATTN_ENCODE_FLOAT_TEXT_H

#include "base/buffer.h"

#include <stddef.h>

enum { ATTN_FLOAT_TEXT_SIZE = 24 };

/* The shortest decimal that reads back as the same float32, in the form of Python's repr ("0.1",
 * "1e-07", "-inf") without a trailing ".0" ("1", "-0"). Returns the length, at most 17; not
 * terminated; the rest of OUT may be scratch. */
size_t attn_format_float(float value, char out[ATTN_FLOAT_TEXT_SIZE]);

/* A sign, 39 digits of the largest float32, a point, and the digits after it. */
enum { ATTN_FIXED_PRECISION_MAX = 17, ATTN_FIXED_TEXT_SIZE = 64 };

/* The text of "%.*f" in the C locale, PRECISION 0..17 digits after the point; NaN is "nan". Returns
 * the length; not terminated. */
size_t attn_float_text_fixed(float value, int precision, char out[ATTN_FIXED_TEXT_SIZE]);

/* The most that attn_number_text writes, and the room that it needs at OUT. */
enum { ATTN_NUMBER_TEXT_SIZE = ATTN_FIXED_TEXT_SIZE };

/* A buffer is grown for this many numbers of a row at a time: a call per number would be slower. */
enum { ATTN_NUMBERS_AT_ONCE = 64 };

/* PRECISION digits after the point, or -1: the shortest text. Returns the length; not
 * terminated. */
static inline size_t attn_number_text(float value, int precision, char *out)
{
    return precision < 0 ? attn_format_float(value, out)
                         : attn_float_text_fixed(value, precision, out);
}

/* Doubles; VALUE is finite. Lack of memory stays in the buffer. The first appends the fewest digits
 * that read back as the same double. */
void attn_double_append(struct attn_buffer *out, double value);

/* As printf's NOTATION has it, 'f', 'e' or 'g': DIGITS after the point, the same and an exponent,
 * or DIGITS significant ones. */
void attn_double_append_as(struct attn_buffer *out, char notation, int digits, double value);

#endif
