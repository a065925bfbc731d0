/* double_text.c - see double_text.h. */
#include "encode/double_text.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOUBLE_TEXT_SIZE = 352 }; /* a sign, 309 digits of the largest, a point, 17 digits */

static bool is_part_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
}

/* Appends a number that printf has made; what stands for the point in this locale becomes one. */
static void append_number(struct attn_buffer *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (is_part_of_number(*text))
            attn_buffer_append_char(out, *text);
        else if (is_part_of_number(text[1]))
            attn_buffer_append_char(out, '.');
}

void attn_double_append(struct attn_buffer *out, double value)
{
    char text[DOUBLE_TEXT_SIZE];
    int digits = 1;

    do /* text and strtod speak of one locale */
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (digits++ < DBL_DECIMAL_DIG &&
           (strtod(text, NULL) < value || strtod(text, NULL) > value));
    append_number(out, text);
}

void attn_double_append_fixed(struct attn_buffer *out, double value, int digits)
{
    char text[DOUBLE_TEXT_SIZE];

    snprintf(text, sizeof text, "%.*f", digits, value);
    append_number(out, text);
}

void attn_double_append_figures(struct attn_buffer *out, double value, int digits)
{
    char text[DOUBLE_TEXT_SIZE];

    snprintf(text, sizeof text, "%.*g", digits, value);
    append_number(out, text);
}

void attn_double_append_magnitude(struct attn_buffer *out, double value)
{
    char text[DOUBLE_TEXT_SIZE];

    snprintf(text, sizeof text, "%.1e", value);
    append_number(out, text);
}
