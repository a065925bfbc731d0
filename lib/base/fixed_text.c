/* fixed_text.c - see fixed_text.h. */
#include "base/fixed_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static bool is_within_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

void attn_fixed_text_append(char *text, size_t size, size_t *used, const char *format, ...)
{
    static const size_t room = sizeof "...";
    size_t cut = *used;
    va_list args;
    int n;

    if (*used >= size)
        return;
    va_start(args, format);
    n = vsnprintf(text + *used, size - *used, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < size - *used) {
        *used += (size_t)n;
        return;
    }
    if (size - cut < room) /* over the last characters */
        cut = size > room ? size - room : 0;
    while (cut > 0 && cut < *used && is_within_character(text[cut]))
        cut--;
    snprintf(text + cut, size - cut, "...");
    *used = size;
}
