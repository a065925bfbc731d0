/* csv_field.c - see csv_field.h. */
#include "output/csv_field.h"

#include <string.h>

static bool needs_quotes(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != '\0' && strchr(",\"\n\r", text[i]))
            return true;
    return false;
}

void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size)
{
    if (!needs_quotes(text, size)) {
        attn_buffer_append(out, text, size);
        return;
    }
    attn_buffer_append_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"')
            attn_buffer_append_char(out, '"');
        attn_buffer_append_char(out, text[i]);
    }
    attn_buffer_append_char(out, '"');
}
