/* csv_field.c - see csv_field.h. */
#include "encode/csv_field.h"

#include <string.h>

static bool needs_quotes(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != '\0' && strchr(",\"\n\r", text[i]))
            return true;
    return false;
}

/* The field START, which needs no quotes, with TEXT after it. */
static void append(struct attn_buffer *out, const char *start, const char *text, size_t size)
{
    const bool is_quoted = needs_quotes(text, size);

    if (is_quoted)
        attn_buffer_append_char(out, '"');
    attn_buffer_append_string(out, start);
    for (size_t i = 0; is_quoted && i < size; i++) {
        if (text[i] == '"')
            attn_buffer_append_char(out, '"');
        attn_buffer_append_char(out, text[i]);
    }
    if (is_quoted)
        attn_buffer_append_char(out, '"');
    else
        attn_buffer_append(out, text, size);
}

void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size)
{
    append(out, "", text, size);
}

void attn_csv_text_append(struct attn_buffer *out, const char *text, size_t size)
{
    static const char begin[] = "=+-@";
    static const char *const escaped[] = {"\\x3d", "\\x2b", "\\x2d", "\\x40"};
    const char *found = size > 0 ? memchr(begin, text[0], sizeof begin - 1) : NULL;

    if (!found)
        append(out, "", text, size);
    else
        append(out, escaped[found - begin], text + 1, size - 1);
}
