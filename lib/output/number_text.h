/*
 * number_text.h - one number as text formats write it: with the digits that were asked for, or as
 * many as it needs.
 */
#ifndef ATTN_OUTPUT_NUMBER_TEXT_H
#define ATTN_OUTPUT_NUMBER_TEXT_H

#include "output/float_text.h"
#include "output/output.h"

/* The most that attn_number_text writes, and the room that it needs at OUT. */
enum { ATTN_NUMBER_TEXT_SIZE = ATTN_FIXED_TEXT_SIZE };

/* PRECISION digits after the point, or -1: the shortest text. Returns the length. */
static inline size_t attn_number_text(float value, int precision, char *out)
{
    return precision < 0 ? attn_format_float(value, out)
                         : attn_float_text_fixed(value, precision, out);
}

#endif
