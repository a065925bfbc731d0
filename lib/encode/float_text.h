/* float_text.h - float32 and doubles as decimal text, the same in every locale. */
#ifndef ATTN_ENCODE_FLOAT_TEXT_H
#define ATTN_ENCODE_FLOAT_TEXT_H

#include "base/buffer.h"

#include <stddef.h>

enum { ATTN_FLOAT_TEXT_SIZE = 24 };

/* The shortest decimal that reads back as the same float32, as Python's repr without ".0": "0.1",
 * "1e-07", "-inf", "-0". Returns the length, at most 17; not terminated; the rest of OUT is
 * scratch. */
size_t attn_format_float(float value, char out[ATTN_FLOAT_TEXT_SIZE]);

/* A sign, 39 digits of the largest float32, a point, and the digits after it. */
enum { ATTN_FIXED_PRECISION_MAX = 17, ATTN_FIXED_TEXT_SIZE = 64 };

/* The text of "%.*f" in the C locale, PRECISION 0..17. Returns the length; not terminated. */
size_t attn_float_text_fixed(float value, int precision, char out[ATTN_FIXED_TEXT_SIZE]);

/* The most that attn_number_text writes, and the room that it needs at OUT. */
enum { ATTN_NUMBER_TEXT_SIZE = ATTN_FIXED_TEXT_SIZE };

/* A buffer is grown for this many numbers of a row at a time: a call per number would be slower. */
enum { ATTN_NUMBERS_AT_ONCE = 64 };

/* PRECISION decimals, or -1: the shortest text. Returns the length; not terminated. */
static inline size_t attn_number_text(float value, int precision, char *out)
{
    return precision < 0 ? attn_format_float(value, out)
                         : attn_float_text_fixed(value, precision, out);
}

/* Appends a finite double: the fewest digits that read back as the same. */
void attn_double_append(struct attn_buffer *out, double value);

/* Appends in printf's NOTATION 'f', 'e' or 'g' with DIGITS. */
void attn_double_append_as(struct attn_buffer *out, char notation, int digits, double value);

#endif
